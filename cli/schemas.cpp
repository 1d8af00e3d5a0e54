#include "cli/schemas.hpp"

#include "model/base/embedded.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace convcast {

extern const std::vector<EmbeddedFile> schema_files;

namespace cli {

std::vector<std::string> schema_names() {
    return names_of(schema_files);
}

std::string json_schema(const std::string &name) {
    if (const EmbeddedFile *file = find_embedded(schema_files, name + ".json"))
        return file->text();
    throw UsageError("list: no schema '" + shortened(name, 60) + "'" + did_you_mean(name, schema_names()) +
                     " Documents: " + join(schema_names()));
}

void write_schemas(const std::string &folder) {
    make_folder(folder);
    for (const std::string &name : schema_names())
        write_file_atomically((std::filesystem::path(folder) / (name + ".json")).string(), json_schema(name));
}

} // namespace cli
} // namespace convcast
