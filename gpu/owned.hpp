// Owners of what CUDA's functions make.
#pragma once

#include <memory>
#include <type_traits>

namespace convcast {

/// Ends what a handle or a pointer stands for. That fails only with a lost context, and then nothing is
/// owned.
template <auto end> struct EndsBy {
    template <class T> void operator()(T *handle) const { (void)end(handle); }
};
/// A handle that the function `end` is called with at last.
template <class Handle, auto end> using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, EndsBy<end>>;

} // namespace convcast
