// The command line of one verb, parsed and checked by the table of options.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace convcast::cli {

struct Option;
struct Refusal;

/// Whether a word of the command line is a shape, "n1c64h56w56k64r3s3".
bool names_shape(const std::string &word);

/// Replaces `name` by `value` wherever it stands in the text.
void put(std::string &text, const std::string &name, const std::string &value);

/// The words behind a verb, read by cli/options.json. Options are not guessed from prefixes.
class Arguments {
  public:
    /// Throws UsageError for unknown options, missing or wrong values, words too many, and what is refused.
    Arguments(std::string verb, std::vector<std::string> words);

    const std::string &verb() const { return verb_; }
    const std::vector<std::string> &words() const { return words_; }
    bool has(const std::string &name) const { return given_.contains(name); }
    /// The options that were given, without dashes.
    std::vector<std::string> given() const;
    /// All values of an option in their order; none of a flag, and none where it was not given.
    std::vector<std::string> texts(const std::string &name) const;
    /// Throws UsageError if the table refuses an option for a thing of this kind, for example "profile": only
    /// the verb, which has read the thing, knows its kind. `what` replaces {what} in the table's message.
    void refuse_options_of(const std::string &of, const std::string &what = "") const;
    /// The value of an option; where it was not given the default of the table, "" if it has none. Throws
    /// UsageError where the value is empty or the option stands more than once.
    std::string text(const std::string &name) const;
    /// The same, but where it was not given `otherwise`.
    std::string text(const std::string &name, const std::string &otherwise) const;
    /// The value of an option, or `otherwise` without it. Throws UsageError unless an integer in [low, high].
    int integer(const std::string &name, int otherwise, int low, int high) const;
    /// The same with the bounds and the default of the table; without a default the upper bound.
    int integer(const std::string &name) const;
    /// A share, 0.05 for "5%", "5 %" or "5"; absent where the option was not given. Throws UsageError for
    /// another text, and for a bare number such as "0.05", which is likely meant as a share.
    std::optional<double> share(const std::string &name) const;
    const std::vector<std::string> &positional() const { return positional_; }
    /// Throws UsageError with the message "VERB: " and `why`.
    [[noreturn]] void refuse(const std::string &why) const;

  private:
    [[noreturn]] void refuse_with_help(const std::string &why) const;
    void read_words();
    void keep(const Option &option, const std::optional<std::string> &value);
    /// Sets `other` to what of the command line does not go with the rest: {other} of the message.
    bool is_refused(const Refusal &refusal, std::string &other) const;
    /// Whether the command line has `what`: an option "format", a value of one "format=csv", or a word "RUN".
    bool is_there(const std::string &what) const;
    /// The values of an option, or the words where `name` is that of a word.
    std::vector<std::string> values_of(const std::string &name) const;

    std::string verb_;
    std::vector<std::string> words_;
    std::vector<const Option *> known_;                     ///< options and words of the verb
    std::map<std::string, std::vector<std::string>> given_; ///< values by option; none of a flag
    std::vector<std::string> positional_; ///< words that are neither options nor their values
};

} // namespace convcast::cli
