// CUPTI opened at run time: what activity and counters share.
#pragma once

#include "gpu/library.hpp"

#include <cupti_result.h>

#include <source_location>
#include <string>

namespace convcast {

class Cupti {
  public:
    /// Throws GpuError without libcupti; `needed_for` completes "needed to ...".
    explicit Cupti(const std::string &needed_for);

    SharedLibrary::Symbol symbol(const char *name) const { return library_.symbol(name); }
    template <class Function> Function *symbol(const char *name) const { return symbol(name); }

    /// Throws CounterPermissionError if the driver keeps counters to administrators, GpuError otherwise.
    void check(CUptiResult result, const char *call,
               std::source_location where = std::source_location::current()) const;

  private:
    SharedLibrary library_;
    decltype(&cuptiGetResultString) result_string_ = library_.symbol("cuptiGetResultString");
};

} // namespace convcast
