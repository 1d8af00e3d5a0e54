#include "reports/bibliography.hpp"

#include "model/base/embedded.hpp"
#include "reports/figure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace convcast {

extern const std::vector<EmbeddedFile> citation_files;

namespace {

struct Entry {
    std::string type, title, year, version, abstract;
    std::string journal, collection, institution, thesis_type; ///< where it appeared
    std::vector<std::string> authors;                          ///< "Chang, Qiong"
};

/// The value behind `name:` at the begin of the text; "" where it is another name.
std::string value_of(std::string_view text, std::string_view name) {
    if (!text.starts_with(name) || text.substr(name.size(), 2) != ": ")
        return "";
    return std::string(text.substr(name.size() + 2));
}

/// "[{family-names: Chang, given-names: Qiong}, ...]"
std::vector<std::string> authors_of(std::string_view list) {
    std::vector<std::string> authors;
    for (std::size_t at = list.find('{'); at != std::string_view::npos; at = list.find('{', at + 1)) {
        const std::string_view one = list.substr(at + 1, list.find('}', at) - at - 1);
        const std::size_t family = one.find("family-names: "), given = one.find(", given-names: ");
        if (family == std::string_view::npos || given == std::string_view::npos)
            continue;
        constexpr std::size_t family_length = 14, given_length = 15;
        authors.push_back(std::string(one.substr(family + family_length, given - family - family_length)) +
                          ", " + std::string(one.substr(given + given_length)));
    }
    return authors;
}

/// "chang_fast": the first author's family name and the first word of the title.
std::string key_of(const Entry &entry) {
    const auto word = [](std::string_view text) {
        std::string out;
        for (const char c : text) {
            if (std::isalnum(static_cast<unsigned char>(c)) == 0)
                break;
            out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        }
        return out;
    };
    return entry.type == "software"
               ? word(entry.title)
               : word(entry.authors.empty() ? "" : entry.authors.front()) + "_" + word(entry.title);
}

std::string entry_text(const Entry &entry) {
    std::string authors;
    for (const std::string &author : entry.authors)
        authors += (authors.empty() ? "" : " and ") + escape_tex(author);
    const char *type = entry.type == "article"            ? "article"
                       : entry.type == "conference-paper" ? "inproceedings"
                                                          : "misc";
    std::string out = fmt::format("@{}{{{},\n  author = {{{}}},\n  title = {{{}}}", type, key_of(entry),
                                  authors, escape_tex(entry.title));
    // Each kind of entry has a field without which BibTeX warns, and the reader cannot find the work.
    const auto field = [&](const char *name, const std::string &value) {
        if (!value.empty())
            out += fmt::format(",\n  {} = {{{}}}", name, escape_tex(value));
    };
    field("journal", entry.journal);
    field("booktitle", entry.collection);
    if (!entry.institution.empty())
        field("howpublished",
              (entry.thesis_type.empty() ? "Report" : entry.thesis_type) + ", " + entry.institution);
    if (!entry.year.empty())
        out += fmt::format(",\n  year = {{{}}}", entry.year);
    if (!entry.version.empty())
        out += fmt::format(",\n  note = {{Version {}. {}}}", escape_tex(entry.version),
                           escape_tex(entry.abstract));
    return out + "\n}\n";
}

} // namespace

std::string bibtex_of(std::string_view citation_cff) {
    std::vector<Entry> entries(1);
    entries.front().type = "software";
    bool in_references = false;
    std::istringstream lines{std::string(citation_cff)};
    for (std::string line; std::getline(lines, line);) {
        in_references = in_references || line == "references:";
        std::string_view text = line;
        text.remove_prefix(std::min(text.size(), text.find_first_not_of(' ')));
        const bool item = text.starts_with("- ");
        if (item)
            text.remove_prefix(2);
        if (item && in_references)
            entries.emplace_back();
        Entry &entry = entries.back();
        if (const std::string name = value_of(text, "name"); !name.empty() && !in_references)
            entry.authors.push_back(name);
        for (const auto &[field, member] : {std::pair("title", &Entry::title),
                                            {"year", &Entry::year},
                                            {"version", &Entry::version},
                                            {"abstract", &Entry::abstract},
                                            {"journal", &Entry::journal},
                                            {"collection-title", &Entry::collection},
                                            {"thesis-type", &Entry::thesis_type}})
            if (const std::string value = value_of(text, field); !value.empty())
                entry.*member = value;
        if (const std::string type = value_of(text, "type"); !type.empty())
            entry.type = type;
        if (const std::string its = value_of(text, "institution"); its.starts_with("{name: ")) {
            constexpr std::size_t before = 7; // of the name
            entry.institution = its.substr(before, its.find('}') - before);
        }
        if (const std::string authors = value_of(text, "authors"); !authors.empty())
            entry.authors = authors_of(authors);
    }
    std::string out;
    for (const Entry &entry : entries)
        out += (out.empty() ? "" : "\n") + entry_text(entry);
    return out;
}

std::string bibtex() {
    return bibtex_of(find_embedded(citation_files, "CITATION.cff")->text());
}

} // namespace convcast
