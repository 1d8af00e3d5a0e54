// Device and pinned memory with owners. Copies are synchronous on the legacy default stream.
#pragma once

#include "gpu/check.hpp"
#include "gpu/owned.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <type_traits>
#include <vector>

namespace convcast {

/// Of the calling thread's device, in bytes.
struct DeviceMemory {
    std::size_t free = 0, total = 0;
};
DeviceMemory device_memory(std::source_location where = std::source_location::current());

/// Whether half of the device's memory is taken. Calls that are kept for later, each with its workspace, must
/// then be freed before another one is made.
bool half_is_taken();

/// cudaMalloc, whose failure says how much was asked for and how much was free.
void *device_allocate(std::size_t bytes, std::source_location where = std::source_location::current());

/// cudaHostAlloc, mapped: the same address works on the device. Zeroed.
void *pinned_allocate(std::size_t bytes, std::source_location where = std::source_location::current());

/// Throws GpuError if `given` elements do not fit a buffer of `size` elements.
void check_copy_size(std::size_t given, std::size_t size);

/// What lies on the device.
template <class T> std::vector<T> copy_of(const T *data, std::size_t size) {
    std::vector<T> values(size);
    check(cudaMemcpy(values.data(), data, size * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return values;
}

template <class T> class DeviceBuffer {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    DeviceBuffer() = default;
    explicit DeviceBuffer(std::size_t elements)
        : data_(elements ? static_cast<T *>(device_allocate(elements * sizeof(T))) : nullptr),
          size_(elements) {}
    explicit DeviceBuffer(std::span<const T> values) : DeviceBuffer(values.size()) { copy_from(values); }

    T *data() { return data_.get(); }
    const T *data() const { return data_.get(); }
    std::size_t size() const { return size_; }
    std::size_t bytes() const { return size_ * sizeof(T); }

    void copy_from(std::span<const T> values) {
        check_copy_size(values.size(), size_);
        check(cudaMemcpy(data(), values.data(), values.size_bytes(), cudaMemcpyHostToDevice), "cudaMemcpy");
    }
    std::vector<T> to_host() const { return copy_of(data(), size_); }
    void fill_bytes(unsigned char value) { check(cudaMemset(data(), value, bytes()), "cudaMemset"); }

  private:
    Owned<T *, cudaFree> data_;
    std::size_t size_ = 0;
};

/// Host memory that kernels read and write while they run.
template <class T> class PinnedBuffer {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    explicit PinnedBuffer(std::size_t elements)
        : data_(static_cast<T *>(pinned_allocate(elements * sizeof(T)))), size_(elements) {}

    T *data() { return data_.get(); }
    std::size_t size() const { return size_; }
    T &operator[](std::size_t i) { return data()[i]; }

  private:
    Owned<T *, cudaFreeHost> data_;
    std::size_t size_;
};

/// An output: payload between two guard zones, all of it poisoned, with 0xFF bytes unless told otherwise,
/// which is NaN in every float format. A kernel that writes outside, or leaves an element unwritten, shows.
template <class T> class GuardedBuffer {
  public:
    static constexpr std::size_t guard_bytes = 64 * 1024;

    explicit GuardedBuffer(std::size_t elements, unsigned char poison_byte = 0xFF)
        : memory_(2 * guard_bytes + elements * sizeof(T)), size_(elements), poison_byte_(poison_byte) {
        poison();
    }

    /// Aligned to 256 bytes, as cudaMalloc's result is; the guard behind starts at the very next byte.
    T *data() { return reinterpret_cast<T *>(memory_.data() + guard_bytes); }
    const T *data() const { return reinterpret_cast<const T *>(memory_.data() + guard_bytes); }
    std::size_t size() const { return size_; }
    std::size_t bytes() const { return size_ * sizeof(T); }

    void poison() { memory_.fill_bytes(poison_byte_); }

    bool guards_intact() const {
        return intact(memory_.data()) && intact(memory_.data() + guard_bytes + bytes());
    }

    std::vector<T> to_host() const { return copy_of(data(), size_); }

  private:
    bool intact(const unsigned char *zone) const {
        const std::vector<unsigned char> seen = copy_of(zone, guard_bytes);
        return std::count(seen.begin(), seen.end(), poison_byte_) == std::ssize(seen);
    }

    DeviceBuffer<unsigned char> memory_;
    std::size_t size_;
    unsigned char poison_byte_;
};

} // namespace convcast
