// Structs whose members Boost.Describe lists, for model/base/described.hpp to read and write them.
#pragma once

#include <boost/describe.hpp>

/// In a struct without bases, behind its members, all of which are public: CONVCAST_MEMBERS(Interval, low,
/// high)
#define CONVCAST_MEMBERS(Struct, ...) BOOST_DESCRIBE_CLASS(Struct, (), (__VA_ARGS__), (), ())
