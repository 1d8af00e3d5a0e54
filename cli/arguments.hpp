// The command line of one verb, parsed and checked.
#pragma once

#include <boost/program_options.hpp>

#include <string>
#include <vector>

namespace convcast::cli {

struct Option {
    const char *name;                             ///< "gpu"; with a short form "output,o"
    enum Kind { flag, text, texts, number } kind; ///< number: with or without one, "--explain 3"
};

/// Parses `words` against `options`; --help is always among them. No prefix guessing; stray words beyond
/// `most_positional` are refused. Throws UsageError with the closest known option.
class Arguments {
  public:
    Arguments(const std::string &verb, const std::vector<std::string> &words,
              const std::vector<Option> &options, std::size_t most_positional);

    bool has(const std::string &name) const { return map_.count(name) != 0; }
    /// The options that were given, without dashes.
    std::vector<std::string> given() const;
    /// All values of an option, however often it may stand; none of a flag.
    std::vector<std::string> values(const std::string &name) const;
    /// Throws UsageError if an option was given that `what`, for example "--network", does not go with.
    /// `instead` says what does.
    void refuse_all_but(const std::vector<std::string> &names, const std::string &what,
                        const std::string &instead) const;
    std::string text(const std::string &name, const std::string &otherwise) const;
    std::vector<std::string> texts(const std::string &name) const;
    /// Throws UsageError unless the option's text is an integer in [low, high].
    int integer(const std::string &name, int otherwise, int low, int high) const;
    const std::vector<std::string> &positional() const { return positional_; }

  private:
    std::string verb_;
    boost::program_options::variables_map map_;
    std::vector<std::string> positional_;
};

} // namespace convcast::cli
