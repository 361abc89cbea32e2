// A minimal test framework: TEST registers a function, CHECK counts and reports failures.
#pragma once

#include <cmath>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

namespace bowfree::tests {

struct Test {
    const char* name;
    void (*run)();
};

inline std::vector<Test>& all_tests() {
    static std::vector<Test> tests;
    return tests;
}

struct Registration {
    Registration(const char* name, void (*run)()) { all_tests().push_back({name, run}); }
};

inline int n_failures = 0;

template <class... Values>
void report(const char* file, int line, const char* expression, const Values&... values) {
    ++n_failures;
    std::cerr << file << ":" << line << ": " << expression;
    ((std::cerr << "  " << values), ...);
    std::cerr << "\n";
}

}  // namespace bowfree::tests

#define TEST(name)                                                                 \
    static void name();                                                            \
    static const bowfree::tests::Registration registration_of_##name(#name, name); \
    static void name()

// Each is one statement, so that an `else` after it is not that of its own `if`.
#define CHECK(condition)                                                          \
    do {                                                                          \
        if (!(condition)) bowfree::tests::report(__FILE__, __LINE__, #condition); \
    } while (false)

#define CHECK_EQUAL(a, b)                                                                  \
    do {                                                                                   \
        if (!((a) == (b))) bowfree::tests::report(__FILE__, __LINE__, #a " == " #b, a, b); \
    } while (false)

#define CHECK_CLOSE(a, b, tolerance)                                              \
    do {                                                                          \
        if (!(std::abs((a) - (b)) <= (tolerance)))                                \
            bowfree::tests::report(__FILE__, __LINE__, #a " close to " #b, a, b); \
    } while (false)

#define CHECK_THROWS(expression, Exception)                                            \
    try {                                                                              \
        (void)(expression);                                                            \
        bowfree::tests::report(__FILE__, __LINE__, #expression " throws " #Exception); \
    } catch (const Exception&) {                                                       \
    }
