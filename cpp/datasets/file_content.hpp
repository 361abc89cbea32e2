// The bytes of a large file, fetched on several threads.
//
// Half of the time that one thread needs goes into memory that is touched for the first time, which
// several can do side by side. A map of the file would need no memory, but kills the process when
// somebody else shortens the file meanwhile.
#pragma once

#include <cstddef>
#include <filesystem>

#include "stop.hpp"

namespace bowfree {

/// Fills `content` with the first `size` bytes of a file; false if they cannot be had.
bool read_file(const std::filesystem::path& path, char* content, std::size_t size, int n_threads,
               const Stop& stop);

}  // namespace bowfree
