#include "gpu/compile.hpp"

#include "model/base/errors.hpp"
#include "model/base/hash.hpp"
#include "model/base/parallel.hpp"
#include "model/base/text.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace convcast {
namespace {

/// The integer that ends right before `marker` in `line`: 32 for "Used 32 registers" and " registers".
int number_before(std::string_view line, std::string_view marker) {
    const std::size_t end = line.find(marker);
    if (end == std::string_view::npos)
        return 0;
    const std::string_view before = line.substr(0, end);
    return number_of<int>(before.substr(before.find_last_not_of("0123456789") + 1)).value_or(0);
}

constexpr const char *cache_format = "convcast cubin 3";

/// Texts in one, each behind its length, so that no two lists read alike.
std::string in_one(const std::vector<std::string> &texts) {
    std::string all;
    for (const std::string &text : texts)
        all += std::to_string(text.size()) + ":" + text;
    return all;
}

/// The texts of in_one; absent where it is none of its.
std::optional<std::vector<std::string>> taken_apart(std::string_view all) {
    std::vector<std::string> texts;
    while (!all.empty()) {
        const std::size_t colon = all.find(':');
        const auto size = number_of<std::size_t>(all.substr(0, colon));
        if (colon == std::string_view::npos || !size || *size >= all.size() - colon)
            return std::nullopt;
        texts.emplace_back(all.substr(colon + 1, *size));
        all.remove_prefix(colon + 1 + *size);
    }
    return texts;
}

/// A cache file: a hash, and what it is of. `key` is the request, all of it: an entry under another name, or
/// of another request, is none.
std::string serialise(const std::string &key, const CompiledModule &module) {
    std::vector<std::string> texts = {cache_format, key, module.cubin, module.log};
    for (const auto &[expression, lowered] : module.lowered_names)
        texts.insert(texts.end(), {expression, lowered});
    const std::string all = in_one(texts);
    return content_hash({all}) + all;
}

std::vector<KernelFacts> facts_of(std::string_view log, std::string_view cubin) {
    std::vector<KernelFacts> kernels = parse_ptxas_log(log);
    for (KernelFacts &kernel : kernels)
        kernel.constant_bytes = constant_bytes_of(cubin);
    return kernels;
}

std::optional<CompiledModule> deserialise(const std::string &key, const std::string &bytes) {
    constexpr std::size_t hash_digits = 32;
    const std::string all = bytes.substr(std::min(hash_digits, bytes.size()));
    const auto texts = taken_apart(all);
    if (bytes.substr(0, hash_digits) != content_hash({all}) || !texts || texts->size() < 4 ||
        texts->at(0) != cache_format || texts->at(1) != key)
        return std::nullopt;
    CompiledModule module;
    module.cubin = texts->at(2);
    module.log = texts->at(3);
    for (std::size_t i = 4; i + 1 < texts->size(); i += 2)
        module.lowered_names[texts->at(i)] = texts->at(i + 1);
    module.kernels = facts_of(module.log, module.cubin);
    return module;
}

/// Whole bytes of a regular file that is ours and that nobody else can write to: what lies in the cache is
/// run. No link is followed and no pipe waited for.
std::optional<std::string> read_own(const std::filesystem::path &file) {
    constexpr off_t most = off_t{256} << 20; // far above any cubin
    const int descriptor = ::open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0)
        return std::nullopt;
    struct stat facts {};
    std::optional<std::string> bytes;
    if (::fstat(descriptor, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_uid == ::geteuid() &&
        (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0 && facts.st_size <= most) {
        bytes.emplace(static_cast<std::size_t>(facts.st_size), '\0');
        std::size_t got = 0;
        for (ssize_t now = 1; now > 0 && got < bytes->size();
             got += static_cast<std::size_t>(std::max<ssize_t>(now, 0)))
            now = ::read(descriptor, bytes->data() + got, bytes->size() - got);
        if (got != bytes->size())
            bytes.reset();
    }
    ::close(descriptor);
    return bytes;
}

/// A new file that only we can write to; false if it is there already or cannot be written.
bool write_own(const std::filesystem::path &file, std::string_view bytes) {
    const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (descriptor < 0)
        return false;
    bool written = ::fchmod(descriptor, S_IRUSR | S_IWUSR) == 0; // whatever the umask says
    while (written && !bytes.empty()) {
        const ssize_t now = ::write(descriptor, bytes.data(), bytes.size());
        written = now > 0;
        bytes.remove_prefix(written ? static_cast<std::size_t>(now) : 0);
    }
    return ::close(descriptor) == 0 && written;
}

std::vector<std::string> nvrtc_options(const CompileRequest &request) {
    std::vector<std::string> options = {
        "--gpu-architecture=sm_" + std::to_string(request.compute_capability) +
            (request.architecture_features ? "a" : ""),
        "--std=c++17", "--device-as-default-execution-space", "--ptxas-options=-v"};
    if (request.max_registers)
        options.push_back("--maxrregcount=" + std::to_string(*request.max_registers));
    options.insert(options.end(), request.options.begin(), request.options.end());
    return options;
}

/// When a compilation is to end, and whether NVRTC was told so.
struct CompileTime {
    std::chrono::steady_clock::time_point end;
    std::atomic<bool> over = false; ///< NVRTC wants the same answer from then on, and asks from any thread
};

/// What NVRTC asks between two passes: 1 stops the compilation.
int is_over(void *time, void * /*reserved*/) {
    CompileTime &of = *static_cast<CompileTime *>(time);
    if (std::chrono::steady_clock::now() >= of.end)
        of.over = true;
    return of.over ? 1 : 0;
}

const SharedLibrary::Request nvrtc_request = {{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"},
                                              "compile kernels",
                                              "the CUDA Toolkit (package cuda-nvrtc)"};

} // namespace

std::vector<KernelFacts> parse_ptxas_log(std::string_view log) {
    constexpr std::string_view entry = "Compiling entry function '";
    constexpr std::string_view properties = "Function properties for ";
    std::vector<KernelFacts> kernels;
    bool own_properties = false; // "Function properties" also come for device functions that were not inlined
    for (const std::string_view line : lines_of(log)) {
        if (const std::size_t at = line.find(entry); at != std::string_view::npos) {
            const std::string_view name = line.substr(at + entry.size());
            kernels.emplace_back().lowered_name = name.substr(0, name.find('\''));
            own_properties = false;
        } else if (kernels.empty()) {
            continue;
        } else if (const std::size_t name_at = line.find(properties); name_at != std::string_view::npos) {
            own_properties = line.substr(name_at + properties.size()) == kernels.back().lowered_name;
        } else if (own_properties && line.find(" bytes stack frame") != std::string_view::npos) {
            kernels.back().stack_bytes = number_before(line, " bytes stack frame");
            kernels.back().spill_store_bytes = number_before(line, " bytes spill stores");
            kernels.back().spill_load_bytes = number_before(line, " bytes spill loads");
        } else if (line.find(": Used ") != std::string_view::npos) {
            kernels.back().registers = number_before(line, " registers");
            kernels.back().static_shared_bytes = number_before(line, " bytes smem");
        }
    }
    return kernels;
}

int constant_bytes_of(std::string_view cubin) {
    Elf64_Ehdr header;
    if (cubin.size() < sizeof header)
        return 0;
    std::memcpy(&header, cubin.data(), sizeof header);
    const auto section = [&](std::size_t index) -> std::optional<Elf64_Shdr> {
        Elf64_Shdr result;
        const std::uint64_t at = header.e_shoff + index * sizeof result;
        if (at > cubin.size() || cubin.size() - at < sizeof result)
            return std::nullopt;
        std::memcpy(&result, cubin.data() + at, sizeof result);
        return result;
    };
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64)
        return 0;
    const std::optional<Elf64_Shdr> names = section(header.e_shstrndx);
    for (std::size_t i = 0; names && i < header.e_shnum; ++i) {
        const std::optional<Elf64_Shdr> found = section(i);
        const std::uint64_t name_at = found ? names->sh_offset + found->sh_name : cubin.size();
        if (name_at < cubin.size() &&
            cubin.substr(name_at).starts_with(std::string_view(".nv.constant3\0", 14)))
            return static_cast<int>(found->sh_size);
    }
    return 0;
}

std::filesystem::path default_cache_folder() {
    const auto variable = [](const char *name) {
        const char *value = std::getenv(name);
        return std::filesystem::path(value ? value : "");
    };
    if (std::filesystem::path own = variable("CONVCAST_CACHE"); !own.empty())
        return own;
    if (const std::filesystem::path xdg = variable("XDG_CACHE_HOME"); xdg.is_absolute())
        return xdg / "convcast";
    if (const std::filesystem::path home = variable("HOME"); !home.empty())
        return home / ".cache" / "convcast";
    return {};
}

const KernelFacts &CompiledModule::facts(const std::string &name) const {
    const auto expression = lowered_names.find(name);
    const std::string &lowered = expression == lowered_names.end() ? name : expression->second;
    for (const KernelFacts &kernel : kernels)
        if (kernel.lowered_name == lowered)
            return kernel;
    throw GpuError("no kernel '" + name + "' in the compiled module");
}

Compiler::Compiler(std::filesystem::path cache_folder, std::chrono::seconds most)
    : library_(nvrtc_request), cache_folder_(std::move(cache_folder)), most_(most) {
    nvrtc_check(library_.symbol<decltype(nvrtcVersion)>("nvrtcVersion")(&major_, &minor_), "nvrtcVersion");
}

std::string Compiler::nvrtc_version() const {
    return std::to_string(major_) + "." + std::to_string(minor_);
}

void Compiler::nvrtc_check(nvrtcResult result, const char *call) const {
    if (result != NVRTC_SUCCESS)
        throw GpuError(std::string(call) + " failed: " + error_string_(result) + " (" + library_.path() +
                       ")");
}

std::string Compiler::cache_key(const CompileRequest &request) const {
    return in_one({cache_format, nvrtc_version(), request.name, request.source,
                   in_one(request.name_expressions), in_one(nvrtc_options(request))});
}

std::filesystem::path Compiler::cache_file(const CompileRequest &request) const {
    return cache_folder_.empty() ? std::filesystem::path() : cache_file(cache_key(request));
}

std::filesystem::path Compiler::cache_file(const std::string &bytes) const {
    return cache_folder_ / (content_hash({bytes}) + ".cubin");
}

CompiledModule Compiler::compile(const CompileRequest &request) {
    if (cache_folder_.empty())
        return compile_uncached(request);
    const std::string key = cache_key(request);
    const std::filesystem::path file = cache_file(key);
    if (const std::optional<std::string> bytes = read_own(file))
        if (std::optional<CompiledModule> cached = deserialise(key, *bytes))
            return std::move(*cached);
    CompiledModule module = compile_uncached(request);
    store(file, serialise(key, module));
    return module;
}

CompiledModule Compiler::compile_uncached(const CompileRequest &request) const {
    nvrtcProgram handle = nullptr;
    nvrtc_check(create_(&handle, request.source.c_str(), request.name.c_str(), 0, nullptr, nullptr),
                "nvrtcCreateProgram");
    const auto destroy = [this](nvrtcProgram program) { (void)destroy_(&program); };
    const std::unique_ptr<std::remove_pointer_t<nvrtcProgram>, decltype(destroy)> program(handle, destroy);
    for (const std::string &expression : request.name_expressions)
        nvrtc_check(add_name_(handle, expression.c_str()), "nvrtcAddNameExpression");

    std::vector<std::string> options = nvrtc_options(request);
    // Since 12.9 NVRTC keeps cubins in the driver's cache where there is a GPU, and then prints no ptxas
    // lines: registers and spills of a kernel would read as unknown. The cache here keeps those lines too.
    if (std::pair(major_, minor_) >= std::pair(12, 9))
        options.push_back("--no-cache");
    std::vector<const char *> option_texts;
    option_texts.reserve(options.size());
    for (const std::string &option : options)
        option_texts.push_back(option.c_str());
    CompileTime time{.end = std::chrono::steady_clock::now() + most_};
    if (set_flow_callback_)
        nvrtc_check(set_flow_callback_(handle, is_over, &time), "nvrtcSetFlowCallback");
    const nvrtcResult result = compile_(handle, static_cast<int>(option_texts.size()), option_texts.data());
    if (time.over)
        throw GpuError("compiling " + request.name + " for sm_" + std::to_string(request.compute_capability) +
                       " was stopped after " + std::to_string(most_.count()) +
                       " s; loops that are unrolled very often keep NVRTC busy: write #pragma unroll 1 "
                       "before them, or a small number");

    CompiledModule module;
    std::size_t size = 0;
    nvrtc_check(log_size_(handle, &size), "nvrtcGetProgramLogSize");
    module.log.resize(size);
    nvrtc_check(log_(handle, module.log.data()), "nvrtcGetProgramLog");
    module.log.resize(std::strlen(module.log.c_str())); // the size counts the closing zero
    if (result != NVRTC_SUCCESS)
        throw GpuError("compiling " + request.name + " for sm_" + std::to_string(request.compute_capability) +
                       " with NVRTC " + nvrtc_version() + " failed: " + error_string_(result) +
                       "\noptions: " + join(options, " ") + "\n" + module.log);

    nvrtc_check(cubin_size_(handle, &size), "nvrtcGetCUBINSize");
    module.cubin.resize(size);
    nvrtc_check(cubin_(handle, module.cubin.data()), "nvrtcGetCUBIN");
    for (const std::string &expression : request.name_expressions) {
        const char *lowered = nullptr;
        nvrtc_check(lowered_name_(handle, expression.c_str(), &lowered), "nvrtcGetLoweredName");
        module.lowered_names[expression] = lowered;
    }
    module.kernels = facts_of(module.log, module.cubin);
    return module;
}

void Compiler::store(const std::filesystem::path &file, std::string_view bytes) {
    std::error_code error;
    std::filesystem::create_directories(cache_folder_, error);
    // Written aside and renamed, so that no reader, in this process or another, sees half a file.
    std::filesystem::path temporary = file;
    temporary += "." + std::to_string(getpid()) + "." + std::to_string(std::random_device{}()) + ".tmp";
    const bool written = write_own(temporary, bytes);
    if (!written)
        error = std::error_code(errno, std::generic_category());
    else
        std::filesystem::rename(temporary, file, error);
    if (written && !error)
        return;
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    const std::scoped_lock lock(warning_mutex_);
    if (!warned_)
        warning_ = "compiled kernels are not cached: cannot write to " + cache_folder_.string() +
                   (error ? " (" + error.message() + ")" : "") + "; set CONVCAST_CACHE to a writable folder";
    warned_ = true;
}

std::string Compiler::take_warning() {
    const std::scoped_lock lock(warning_mutex_);
    return std::exchange(warning_, {});
}

std::vector<Compiler::Outcome> Compiler::compile_all(std::span<const CompileRequest> requests,
                                                     unsigned threads, const Progress &progress) {
    std::vector<Outcome> outcomes(requests.size());
    std::mutex progress_mutex;
    std::size_t done = 0;
    in_parallel(
        requests.size(),
        [&](std::size_t i) {
            try {
                outcomes[i] = compile(requests[i]);
            } catch (const std::exception &error) {
                outcomes[i] = std::string(error.what());
            }
            const std::scoped_lock lock(progress_mutex);
            ++done;
            if (progress)
                progress(done, requests.size());
        },
        threads);
    return outcomes;
}

} // namespace convcast
