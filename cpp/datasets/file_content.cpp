#include "datasets/file_content.hpp"

#include <algorithm>
#include <atomic>
#include <fstream>

#include "threads.hpp"

namespace bowfree {

namespace {

constexpr std::size_t piece = std::size_t{1} << 23;  // bytes between two looks at `stop`

}  // namespace

bool read_file(const std::filesystem::path& path, char* content, std::size_t size, int n_threads,
               const Stop& stop) {
    std::atomic<bool> whole{true};
    const int n = static_cast<int>((size + piece - 1) / piece);
    run_jobs(n, n_threads, stop, [&](int job, const Stop&) {
        const std::size_t begin = piece * static_cast<std::size_t>(job);
        const std::size_t length = std::min(piece, size - begin);
        std::ifstream file;
        file.rdbuf()->pubsetbuf(nullptr, 0);  // straight into `content`
        file.open(path, std::ios::binary);
        file.seekg(static_cast<std::streamoff>(begin));
        if (!file.read(content + begin, static_cast<std::streamsize>(length)))
            whole.store(false, std::memory_order_relaxed);
    });
    return whole;
}

}  // namespace bowfree
