#include "gpu/library.hpp"

#include "model/base/errors.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace convcast {
namespace {

/// Folders with CUDA libraries beyond the loader's path: $CUDA_HOME, then /usr/local/cuda.
std::vector<std::string> cuda_library_folders() {
    std::vector<std::string> roots;
    if (const char *home = std::getenv("CUDA_HOME"); home && *home)
        roots.emplace_back(home);
    roots.emplace_back("/usr/local/cuda");
    std::vector<std::string> folders;
    for (const std::string &root : roots)
        for (const char *below : {"/lib64", "/lib", "/extras/CUPTI/lib64"})
            folders.push_back(root + below);
    return folders;
}

} // namespace

SharedLibrary::SharedLibrary(const Request &request) {
    std::vector<std::string> folders = cuda_library_folders();
    folders.insert(folders.begin(), ""); // the loader's own search: LD_LIBRARY_PATH, ld.so.cache
    std::string first_problem;
    for (const std::string &name : request.names) {
        for (const std::string &folder : folders) {
            const std::string path = folder.empty() ? name : folder + "/" + name;
            handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
            if (handle_) {
                path_ = path;
                return;
            }
            // "cannot open shared object file" is the normal miss; a file that is there but unusable is news.
            const char *text = dlerror();
            if (text && first_problem.empty() && !std::string(text).ends_with("No such file or directory"))
                first_problem = text;
        }
    }
    folders.front() = "the loader's path";
    throw GpuError("cannot open " + join(request.names, " or ") + ", needed to " + request.needed_for +
                   " (looked in " + join(folders) + ")" +
                   (first_problem.empty() ? "" : "; found but unusable: " + first_problem) +
                   ". It comes with " + request.package + "; set CUDA_HOME or LD_LIBRARY_PATH.");
}

SharedLibrary::Symbol SharedLibrary::symbol_if_any(const char *name) const {
    return {dlsym(handle_, name)};
}

SharedLibrary::Symbol SharedLibrary::symbol(const char *name) const {
    const Symbol found = symbol_if_any(name);
    if (!found.address)
        throw GpuError(path_ + " has no " + name + ": its version is too old for this program");
    return found;
}

} // namespace convcast
