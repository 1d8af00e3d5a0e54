// What is often done with lists.
#pragma once

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>
#include <vector>

namespace convcast {

/// Adds a value unless the list has it, so that each stands where it first came.
template <class T> void add_once(std::vector<T> &list, const T &value) {
    if (std::ranges::find(list, value) == list.end())
        list.push_back(value);
}

template <class T> void append(std::vector<T> &list, std::vector<T> more) {
    std::move(more.begin(), more.end(), std::back_inserter(list));
}

/// A pointer to the first element that `fits`, or whose `member` is `value`; nullptr where there is none.
auto *first_where(auto &list, const auto &fits) {
    const auto found = std::ranges::find_if(list, fits);
    return found == list.end() ? nullptr : &*found;
}
auto *first_with(auto &list, auto member, const auto &value) {
    return first_where(list, [&](const auto &one) { return std::invoke(member, one) == value; });
}

} // namespace convcast
