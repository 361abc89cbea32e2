#include "datasets/number_table.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <system_error>
#include <version>

#include "threads.hpp"

namespace bowfree {

namespace {

constexpr std::size_t piece_size = std::size_t{1} << 22;  // bytes for which a thread pays
constexpr int rows_between_looks = 1000;
constexpr std::size_t longest_cell = 64;  // characters of a number that has to be copied

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/// Whether a number may begin here: digits or a point behind at most one sign. Words such as "inf"
/// are left to the careful reader.
bool begins_number(const char* p, const char* end) {
    if (p != end && (*p == '-' || *p == '+')) ++p;
    return p != end && (is_digit(*p) || *p == '.');
}

/// Reads the number with a decimal point that begins here, and returns where it ends; nullptr if it
/// is none, or not between the smallest and the largest double.
const char* read_number(const char* p, const char* end, double& value) {
    if (!begins_number(p, end)) return nullptr;
    if (*p == '+') ++p;
#if defined(__cpp_lib_to_chars) && __cpp_lib_to_chars >= 201611L
    const auto [after, error] = std::from_chars(p, end, value);
    return error == std::errc() ? after : nullptr;
#else
    // A standard library without from_chars for doubles: strtod needs an end that it can see.
    char copy[longest_cell + 1];
    std::size_t size = 0;
    while (p + size != end && size < longest_cell &&
           (is_digit(p[size]) || p[size] == '.' || p[size] == 'e' || p[size] == 'E' ||
            p[size] == '-' || p[size] == '+'))
        ++size;
    std::copy_n(p, size, copy);
    copy[size] = '\0';
    char* after = nullptr;
    value = std::strtod(copy, &after);
    if (after == copy || size == longest_cell) return nullptr;
    const bool in_range = value == 0.0 || (std::abs(value) >= std::numeric_limits<double>::min() &&
                                           std::abs(value) <= std::numeric_limits<double>::max());
    return in_range ? p + (after - copy) : nullptr;
#endif
}

/// The lines of one piece of the text. Every member that reads returns where it got to, or nullptr
/// where the piece is odd.
class PieceReader {
  public:
    PieceReader(const TableLayout& layout, const char* end)
        : layout_(layout), end_(end), column_(layout.width, none) {
        for (std::size_t k = 0; k < layout.chosen.size(); ++k) column_[layout.chosen[k]] = k;
    }

    /// Reads the row that begins at p, the `number`-th of the table, into `row`.
    const char* read_row(const char* p, std::size_t number, double* row) const {
        const char* text = past_blanks(p);
        if (text != p && (text == end_ || is_line_end(*text)))
            return nullptr;  // nothing but blanks
        for (std::size_t k = 0; k < layout_.width; ++k) {
            if (k > 0) {
                if (p == end_ || *p != layout_.separator) return nullptr;
                ++p;
            }
            p = column_[k] == none ? pass_cell(p, layout_.numbered && k == 0 ? number : 0)
                                   : read_cell(p, row[column_[k]]);
            if (p == nullptr) return nullptr;
        }
        return past_line_end(p);
    }

    /// Whether the line that begins at p is empty; then p is moved behind it.
    bool pass_empty_line(const char*& p) const {
        if (!is_line_end(*p)) return false;
        const char* after = past_line_end(p);
        if (after != nullptr) p = after;
        return after != nullptr;
    }

  private:
    static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

    static bool is_line_end(char c) { return c == '\n' || c == '\r'; }
    bool ends_cell(const char* p) const {
        return p == end_ || *p == layout_.separator || is_line_end(*p);
    }

    const char* past_blanks(const char* p) const {
        while (p != end_ && (*p == ' ' || *p == '\t') && *p != layout_.separator) ++p;
        return p;
    }
    const char* past_line_end(const char* p) const {
        if (p == end_) return p;
        if (*p == '\n') return p + 1;
        return *p == '\r' && p + 1 != end_ && p[1] == '\n' ? p + 2 : nullptr;
    }
    /// From behind an opening quote to the closing one; a quote within is written twice.
    const char* closing_quote(const char* p) const {
        for (; p != end_ && !is_line_end(*p); ++p)
            if (*p == '"') {
                if (p + 1 == end_ || p[1] != '"') return p;
                ++p;
            }
        return nullptr;
    }
    const char* cell_end(const char* p) const {
        while (!ends_cell(p)) ++p;
        return p;
    }
    /// Behind the closing quote there may be blanks, and nothing else.
    const char* after_quote(const char* closing) const {
        const char* p = past_blanks(closing + 1);
        return ends_cell(p) ? p : nullptr;
    }

    const char* read_cell(const char* p, double& value) const {
        p = past_blanks(p);
        const bool quoted = p != end_ && *p == '"';
        if (quoted) ++p;
        // Most cells are numbers, which say themselves where they end.
        const char* after = layout_.decimal == '.' ? read_number(p, end_, value)
                                                   : read_comma_number(p, quoted, value);
        if (after != nullptr && quoted && after != end_ && *after == '"') {
            after = past_blanks(after + 1);
            if (ends_cell(after)) return after;
        } else if (after != nullptr && !quoted) {
            after = past_blanks(after);
            if (ends_cell(after)) return after;
        }
        const char* end = quoted ? closing_quote(p) : cell_end(p);
        if (end == nullptr) return nullptr;
        const char* last = end;
        while (!quoted && last != p && (last[-1] == ' ' || last[-1] == '\t')) --last;
        if (!is_missing({p, last})) return nullptr;
        value = std::numeric_limits<double>::quiet_NaN();
        return quoted ? after_quote(end) : end;
    }

    const char* pass_cell(const char* p, std::size_t number) const {
        p = past_blanks(p);
        const bool quoted = p != end_ && *p == '"';
        const char* end = quoted ? closing_quote(++p) : cell_end(p);
        if (end == nullptr) return nullptr;
        if (number != 0) {
            std::size_t label = 0;
            const auto [after, error] = std::from_chars(p, end, label);
            if (error != std::errc() || after != end || label != number || *p == '0')
                return nullptr;
        }
        return quoted ? after_quote(end) : end;
    }

    /// Like `read_number`, for one with a decimal comma: in a copy, with a point in its place.
    const char* read_comma_number(const char* p, bool quoted, double& value) const {
        char copy[longest_cell];
        const std::size_t size = std::min<std::size_t>(longest_cell, end_ - p);
        std::memcpy(copy, p, size);
        std::size_t whole = 0;  // what stands before the comma
        while (whole < size && (is_digit(copy[whole]) || copy[whole] == '-' || copy[whole] == '+'))
            ++whole;
        if (whole < size && copy[whole] == '.') return nullptr;
        if (whole < size && copy[whole] == layout_.decimal &&
            (quoted || layout_.decimal != layout_.separator))
            copy[whole] = '.';
        const char* after = read_number(copy, copy + size, value);
        const bool whole_cell = after != copy + size || p + size == end_;
        return after != nullptr && whole_cell ? p + (after - copy) : nullptr;
    }

    bool is_missing(std::string_view cell) const {
        char copy[longest_cell];
        if (cell.size() > longest_cell) return false;
        std::transform(cell.begin(), cell.end(), copy,
                       [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
        const std::string_view word(copy, cell.size());
        const auto& words = layout_.missing;
        return std::find(words.begin(), words.end(), word) != words.end();
    }

    const TableLayout& layout_;
    const char* end_;
    std::vector<std::size_t> column_;  // of each cell the column of the result, or none
};

/// Lines that one thread reads, and where they go.
struct Piece {
    const char *begin, *end;
    std::size_t first_row = 0,
                rows = 0;  // `rows` is at most the number of lines, then what was read
};

const char* next_line(const char* p, const char* end) {
    // memchr looks at many letters at a time.
    const void* found = p == end ? nullptr : std::memchr(p, '\n', end - p);
    return found == nullptr ? end : static_cast<const char*>(found) + 1;
}

/// Cuts the lines into many pieces: where other programs hold up one thread, the others take more.
std::vector<Piece> cut(std::string_view lines) {
    const std::size_t n = std::max<std::size_t>(1, lines.size() / piece_size);
    std::vector<Piece> pieces;
    const char *begin = lines.data(), *end = begin + lines.size();
    for (std::size_t k = 1; k <= n && begin != end; ++k) {
        const char* to = std::max(begin, lines.data() + lines.size() / n * k);
        to = k == n ? end : next_line(to, end);
        pieces.push_back({begin, to});
        begin = to;
    }
    return pieces;
}

}  // namespace

std::optional<NumberTable> read_numbers(std::string_view lines, const TableLayout& layout,
                                        int n_threads, const Stop& stop) {
    std::vector<Piece> pieces = cut(lines);
    const int n = static_cast<int>(pieces.size());
    run_jobs(n, n_threads, stop, [&](int job, const Stop&) {
        Piece& piece = pieces[job];
        for (const char* p = piece.begin; p != piece.end; p = next_line(p, piece.end)) ++piece.rows;
    });
    std::size_t rows = 0;
    for (Piece& piece : pieces) {
        piece.first_row = rows;
        rows += piece.rows;
    }
    const std::size_t columns = layout.chosen.size();
    NumberTable table{0, std::unique_ptr<double[]>(new double[rows * columns])};
    std::atomic<bool> odd{false};
    run_jobs(n, n_threads, stop, [&](int job, const Stop& told) {
        Piece& piece = pieces[job];
        const PieceReader reader(layout, piece.end);
        double* row = table.values.get() + piece.first_row * columns;
        std::size_t read = 0;
        for (const char* p = piece.begin; p != piece.end;) {
            if (read % rows_between_looks == 0) {
                told.check();
                if (odd.load(std::memory_order_relaxed)) return;
            }
            if (reader.pass_empty_line(p)) continue;
            p = reader.read_row(p, piece.first_row + read + 1, row);
            if (p == nullptr) {
                odd.store(true, std::memory_order_relaxed);
                return;
            }
            row += columns;
            ++read;
        }
        piece.rows = read;
    });
    if (odd) return std::nullopt;
    for (const Piece& piece : pieces) {  // close up where lines were empty
        const double* from = table.values.get() + piece.first_row * columns;
        double* to = table.values.get() + table.rows * columns;
        if (from != to) std::copy(from, from + piece.rows * columns, to);
        table.rows += piece.rows;
    }
    return table;
}

}  // namespace bowfree
