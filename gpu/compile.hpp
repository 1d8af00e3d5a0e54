// Device code to cubin by NVRTC, for one architecture, cached on disk. Needs no GPU.
#pragma once

#include "gpu/library.hpp"

#include <nvrtc.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace convcast {

struct CompileRequest {
    std::string name{}; ///< file name shown in the log
    std::string source{};
    /// "row_register<4, 128>"; kernels that are extern "C" need none
    std::vector<std::string> name_expressions{};
    std::vector<std::string> options{}; ///< further NVRTC options, e.g. "-DTILE_W=128"
    int compute_capability = 0;         ///< 90 for sm_90
    bool architecture_features = false; ///< sm_90a: with instructions that no later architecture has
    std::optional<int> max_registers{}; ///< per thread
};

/// What ptxas says about one kernel.
struct KernelFacts {
    std::string lowered_name;
    int registers = 0; ///< per thread
    int static_shared_bytes = 0;
    int stack_bytes = 0;
    int spill_store_bytes = 0; ///< per thread, counted once per spill instruction in the code
    int spill_load_bytes = 0;
    int constant_bytes = 0; ///< __constant__ variables of the whole module
    bool operator==(const KernelFacts &) const = default;
};

struct CompiledModule {
    std::string cubin;
    std::map<std::string, std::string> lowered_names; ///< name expression -> symbol in the cubin
    std::vector<KernelFacts> kernels;
    std::string log;

    /// The facts of a kernel by name expression or lowered name. Throws GpuError.
    const KernelFacts &facts(const std::string &name) const;
};

/// Facts of every entry function in the output of `ptxas -v`; constant_bytes stays 0, the log does not tell.
std::vector<KernelFacts> parse_ptxas_log(std::string_view log);

/// Bytes of __constant__ variables in a cubin (ELF section .nv.constant3); 0 if it is not one.
int constant_bytes_of(std::string_view cubin);

/// $CONVCAST_CACHE, or convcast below $XDG_CACHE_HOME or ~/.cache; empty, which means no cache, without any.
std::filesystem::path default_cache_folder();

/// Thread-safe.
class Compiler {
  public:
    using Outcome = std::variant<CompiledModule, std::string>; ///< or why it failed
    using Progress = std::function<void(std::size_t done, std::size_t total)>;

    /// Throws GpuError without NVRTC. An empty folder means no cache. A kernel for which NVRTC takes longer
    /// than `most` fails: loops that are unrolled thousands of times keep it busy for many minutes. NVRTC
    /// stops between two of its passes, so it may go on for as long as one pass takes; NVRTC older than 12.9
    /// is not stopped.
    explicit Compiler(std::filesystem::path cache_folder = default_cache_folder(),
                      std::chrono::seconds most = std::chrono::minutes(2));

    /// Throws GpuError with NVRTC's log if the source does not compile, or not in time.
    CompiledModule compile(const CompileRequest &request);

    /// One outcome per request, in order. `progress` is called from one thread at a time.
    std::vector<Outcome> compile_all(std::span<const CompileRequest> requests, unsigned threads,
                                     const Progress &progress = {});

    /// Why results are not cached, the first time it is asked after that was found out; empty otherwise.
    std::string take_warning();

    /// "13.0"
    std::string nvrtc_version() const;

    /// Where the result of a request is or would be cached; empty without a cache.
    std::filesystem::path cache_file(const CompileRequest &request) const;

  private:
    CompiledModule compile_uncached(const CompileRequest &request) const;
    std::string cache_key(const CompileRequest &request) const;
    std::filesystem::path cache_file(const std::string &key) const;
    void store(const std::filesystem::path &file, std::string_view bytes);
    void nvrtc_check(nvrtcResult result, const char *call) const;

    SharedLibrary library_;
    decltype(&nvrtcGetErrorString) error_string_ = library_.symbol("nvrtcGetErrorString");
    decltype(&nvrtcCreateProgram) create_ = library_.symbol("nvrtcCreateProgram");
    decltype(&nvrtcDestroyProgram) destroy_ = library_.symbol("nvrtcDestroyProgram");
    decltype(&nvrtcAddNameExpression) add_name_ = library_.symbol("nvrtcAddNameExpression");
    decltype(&nvrtcCompileProgram) compile_ = library_.symbol("nvrtcCompileProgram");
    /// nvrtcSetFlowCallback, by hand since the header of an older toolkit lacks it; nullptr where NVRTC lacks
    /// it.
    nvrtcResult (*set_flow_callback_)(nvrtcProgram, int (*)(void *, void *),
                                      void *) = library_.symbol_if_any("nvrtcSetFlowCallback");
    decltype(&nvrtcGetLoweredName) lowered_name_ = library_.symbol("nvrtcGetLoweredName");
    decltype(&nvrtcGetProgramLogSize) log_size_ = library_.symbol("nvrtcGetProgramLogSize");
    decltype(&nvrtcGetProgramLog) log_ = library_.symbol("nvrtcGetProgramLog");
    decltype(&nvrtcGetCUBINSize) cubin_size_ = library_.symbol("nvrtcGetCUBINSize");
    decltype(&nvrtcGetCUBIN) cubin_ = library_.symbol("nvrtcGetCUBIN");
    int major_ = 0;
    int minor_ = 0;
    std::filesystem::path cache_folder_;
    std::chrono::seconds most_;
    std::mutex warning_mutex_;
    std::string warning_;
    bool warned_ = false;
};

} // namespace convcast
