// Numbers drawn from a seed, the same on every machine.
#pragma once

#include <cmath>
#include <cstdint>

namespace convcast {

/// The generator of that name (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014):
/// each call gives the next 64-bit number, the same on every machine, which the standard library's
/// distributions do not promise.
class SplitMix64 {
  public:
    explicit SplitMix64(std::uint64_t seed) : state_(seed) {}

    std::uint64_t operator()() {
        std::uint64_t x = state_ += 0x9e3779b97f4a7c15U;
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
        x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
        return x ^ (x >> 31);
    }

    /// A number from 0 to below 1, in steps of 2^-24, so that it is exact as a float too.
    double share() { return std::ldexp(static_cast<double>((*this)() >> 40), -24); }

    /// A number from 0 to below 1, in steps of 2^-53.
    double uniform() { return static_cast<double>((*this)() >> 11) * 0x1p-53; }

  private:
    std::uint64_t state_;
};

} // namespace convcast
