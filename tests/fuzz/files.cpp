// The bytes of a file, packed or not; and JSON, the text of most files, read and written again.
#include "model/base/files.hpp"
#include "model/base/json.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <sys/mman.h>
#include <unistd.h>

using namespace convcast;

static std::string rewritten(const std::string &text, const std::string &file) {
    JsonWriter writer;
    parse_json(text, file, std::ref(writer));
    return writer.take() + "\n";
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    const int file = memfd_create("input", 0);
    if (file < 0 || ::write(file, data, size) != static_cast<ssize_t>(size))
        std::abort();
    std::optional<std::string> text;
    try {
        text = read_file("/proc/self/fd/" + std::to_string(file));
    } catch (const InputError &) {
    }
    ::close(file);
    if (!text)
        return -1;
    try {
        const std::string written = rewritten(*text, "input");
        fuzz::require_same(written, rewritten(written, "written"));
        fuzz::require_same(written, parts_of_json(*text, "input", {}, {""}).texts.front());
    } catch (const InputError &) {
    }
    return 0;
}
