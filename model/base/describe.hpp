// Structs whose members Boost.Describe lists, for model/base/described.hpp to read and write them.
#pragma once

#include <boost/describe.hpp>

/// Makes the named members of a struct the fields of a document, with their names as keys. It stands behind
/// the members: CONVCAST_MEMBERS(Interval, low, high). The struct has no bases, the members are public.
#define CONVCAST_MEMBERS(Struct, ...) BOOST_DESCRIBE_CLASS(Struct, (), (__VA_ARGS__), (), ())
