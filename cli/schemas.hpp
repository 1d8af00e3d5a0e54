// The JSON Schemas of every document, as docs/schemas has them.
#pragma once

#include <string>
#include <vector>

namespace convcast::cli {

/// "profile", "run", ...: the documents that there are.
std::vector<std::string> schema_names();

/// The JSON Schema (draft 2020-12) of a document. Throws UsageError for a name that is none.
std::string json_schema(const std::string &name);

/// Writes the schema of every document into a folder, which is made where it is not there. Throws InputError.
void write_schemas(const std::string &folder);

} // namespace convcast::cli
