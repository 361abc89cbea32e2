// Large tables of numbers, read from their text on several threads.
//
// Only what cannot be misunderstood is read here: a line for each row, as many cells in each,
// numbers or words for "missing" in the columns that are wanted, quotes around a whole cell or
// nowhere. Whatever else comes ends the work without a result; the careful reader of the package
// (src/bowfree/formats/csv_text.py), which knows lines and columns, has the last word, and wherever
// there is a result it would have come to the same numbers.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stop.hpp"

namespace bowfree {

/// How the lines of a table are written, and what is wanted of them.
struct TableLayout {
    char separator;
    char decimal;
    std::size_t width;  ///< Cells in every line.
    std::vector<std::size_t>
        chosen;  ///< Places of the cells that are wanted, from 0, all distinct.
    std::vector<std::string> missing;  ///< What stands for "not measured", in small letters.
    bool numbered;                     ///< Whether the first cells have to be 1, 2, 3 and so on.
};

/// Numbers in rows, one row after the other; NaN for a missing one.
struct NumberTable {
    std::size_t rows;
    std::unique_ptr<double[]> values;
};

/// Reads lines that end with \n or \r\n, the last one perhaps with nothing; empty ones are passed
/// over. Nothing is returned where a careful reader has to decide.
std::optional<NumberTable> read_numbers(std::string_view lines, const TableLayout& layout,
                                        int n_threads, const Stop& stop);

}  // namespace bowfree
