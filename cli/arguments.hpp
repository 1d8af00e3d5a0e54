// The command line of one verb, parsed and checked by the table of options.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace convcast::cli {

struct Option;
struct Refusal;

/// Whether a word of the command line is a shape.
bool names_shape(const std::string &word);

/// Puts a value in the place of its name, wherever that stands in the text.
void put(std::string &text, const std::string &name, const std::string &value);

/// No prefix guessing; an unknown option, a value that is missing or of the wrong kind, a word too many and
/// what the table refuses throw UsageError.
class Arguments {
  public:
    Arguments(std::string verb, std::vector<std::string> words);

    const std::string &verb() const { return verb_; }
    /// As they were given.
    const std::vector<std::string> &words() const { return words_; }
    bool has(const std::string &name) const { return given_.contains(name); }
    /// The options that were given, without dashes.
    std::vector<std::string> given() const;
    /// All values of an option, however often it may stand; none of a flag, and none where it was not given.
    std::vector<std::string> texts(const std::string &name) const;
    /// Throws UsageError if the table refuses an option for what is asked about, "profile": only the verb can
    /// tell that. `what` is what the table calls {what}.
    void refuse_options_of(const std::string &of, const std::string &what = "") const;
    /// The value; where it was not given that of the table, or what the caller says. Throws UsageError where
    /// it is empty or stands more than once.
    std::string text(const std::string &name) const;
    std::string text(const std::string &name, const std::string &otherwise) const;
    /// Throws UsageError unless the option's text is an integer in [low, high].
    int integer(const std::string &name, int otherwise, int low, int high) const;
    /// The same with the bounds and the default of the table.
    int integer(const std::string &name) const;
    /// A share that is given in percent, "5%", "5 %" or "5"; absent where the option was not given. Throws
    /// UsageError for another text, and for a bare number that is likely meant as a share.
    std::optional<double> share(const std::string &name) const;
    const std::vector<std::string> &positional() const { return positional_; }
    /// Throws UsageError, "VERB: " and why.
    [[noreturn]] void refuse(const std::string &why) const;

  private:
    [[noreturn]] void refuse_with_help(const std::string &why) const;
    void read_words();
    void keep(const Option &option, const std::optional<std::string> &value);
    bool is_refused(const Refusal &refusal, std::string &other) const;
    bool is_there(const std::string &what) const;
    std::vector<std::string> values_of(const std::string &name) const;

    std::string verb_;
    std::vector<std::string> words_;
    std::vector<const Option *> known_;
    std::map<std::string, std::vector<std::string>> given_;
    std::vector<std::string> positional_;
};

} // namespace convcast::cli
