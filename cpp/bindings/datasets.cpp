// Large files, and the tables of numbers in them.
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/calls.hpp"
#include "datasets/file_content.hpp"
#include "datasets/number_table.hpp"

namespace bowfree::bindings {

namespace {

using namespace nb::literals;
using Text = Array<std::uint8_t, 1>;
using Numbers = nb::ndarray<nb::numpy, double>;

std::optional<nb::bytes> read_whole_file(const std::filesystem::path& path, std::size_t size,
                                         int n_threads) {
    nb::bytes content(nullptr, size);  // uninitialized; nobody else has seen it yet
    char* const to = const_cast<char*>(content.c_str());
    const bool whole =
        interruptibly([&](const Stop& stop) { return read_file(path, to, size, n_threads, stop); });
    return whole ? std::optional(content) : std::nullopt;
}

std::optional<Numbers> read_number_table(const Text& text, std::size_t begin, char separator,
                                         char decimal, std::size_t width,
                                         std::vector<std::size_t> chosen,
                                         std::vector<std::string> missing, bool numbered,
                                         int n_threads) {
    if (begin > text.size()) throw std::invalid_argument("begin must lie within the text");
    std::vector<bool> seen(width);
    for (const std::size_t k : chosen) {
        if (k >= width || seen[k])
            throw std::invalid_argument("chosen must be distinct places below width");
        seen[k] = true;
    }
    const std::string_view lines(reinterpret_cast<const char*>(text.data()) + begin,
                                 text.size() - begin);
    const std::size_t columns = chosen.size();
    const TableLayout layout{separator,          decimal, width, std::move(chosen),
                             std::move(missing), numbered};
    std::optional<NumberTable> table = interruptibly(
        [&](const Stop& stop) { return read_numbers(lines, layout, n_threads, stop); });
    if (!table) return std::nullopt;
    double* values = table->values.release();
    nb::capsule owner(values, [](void* p) noexcept { delete[] static_cast<double*>(p); });
    return Numbers(values, {table->rows, columns}, owner);
}

}  // namespace

void bind_datasets(nb::module_& m) {
    m.def("read_file", &read_whole_file, "path"_a, "size"_a, "n_threads"_a,
          // The stub would have a PathLike of nothing in particular, which mypy refuses.
          nb::sig("def read_file(path: str | os.PathLike[str], size: int, n_threads: int) -> bytes "
                  "| None"),
          "The first `size` bytes of a file; None where they cannot be had.");
    m.def("read_numbers", &read_number_table, "text"_a, "begin"_a, "separator"_a, "decimal"_a,
          "width"_a, "chosen"_a, "missing"_a, "numbered"_a, "n_threads"_a,
          "Numbers of some columns of a table, whose rows are the lines of `text` (uint8) from\n"
          "`begin` on; None where a careful reader has to decide.");
}

}  // namespace bowfree::bindings
