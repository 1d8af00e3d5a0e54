// The bytes of a file, packed or not; and JSON, the text of most files, read and written again.
#include "model/base/files.hpp"
#include "model/base/json.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <sys/mman.h>
#include <unistd.h>

using namespace convcast;

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
        const std::string written = to_text(parse_json(*text, "input"));
        fuzz::require_same(written, to_text(parse_json(written, "written")));
        JsonWriter as_it_comes;
        parse_json(*text, "input", std::ref(as_it_comes));
        fuzz::require_same(written, as_it_comes.take() + "\n");
        fuzz::require_same(written, parts_of_json(*text, "input", {}, {""}).texts.front());
    } catch (const InputError &) {
    }
    return 0;
}
