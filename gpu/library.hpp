// A vendor library opened at run time, so that the binary starts, predicts and reports without it.
#pragma once

#include <string>
#include <vector>

namespace convcast {

class SharedLibrary {
  public:
    struct Request {
        std::vector<std::string> names; ///< file names, best first: {"libnvrtc.so.13", "libnvrtc.so"}
        std::string needed_for;         ///< completes "needed to ...": "compile kernels"
        std::string package;            ///< what brings it: "the CUDA Toolkit (cuda-nvrtc-13-0)"
    };

    /// Tries every name in the loader's own path, then in the CUDA folders. Throws GpuError.
    explicit SharedLibrary(const Request &request);

    /// What a name stands for, which a pointer to a function of any type takes.
    struct Symbol {
        void *address;
        template <class Function> operator Function *() const {
            return reinterpret_cast<Function *>(address);
        }
    };
    /// Throws GpuError if this version of the library lacks it.
    Symbol symbol(const char *name) const;
    template <class Function> Function *symbol(const char *name) const { return symbol(name); }
    /// nullptr if this version of the library lacks it.
    Symbol symbol_if_any(const char *name) const;

    const std::string &path() const { return path_; }

  private:
    // Never closed: CUDA libraries keep threads and callbacks that outlive any owner of ours.
    void *handle_ = nullptr;
    std::string path_;
};

} // namespace convcast
