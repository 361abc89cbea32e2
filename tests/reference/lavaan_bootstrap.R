# Makes lavaan_bootstrap.json: bootstrap intervals of the models of real.json on their tables.
#
#   Rscript lavaan_bootstrap.R TABLES [CASE...]    (in this folder; packages lavaan, boot, jsonlite)
#
# TABLES is a folder with hs.csv, pd.csv, bfi.csv and twolevel.csv. lavaan has percentile intervals
# ("perc") and bias-corrected ones ("bca.simple"). Those of "bca" are computed here from lavaan's
# samples and from its estimates without each row, as in boot::boot.ci.
suppressMessages(library(lavaan))
folder <- commandArgs(TRUE)[1]
only <- commandArgs(TRUE)[-1]  # some of the cases; by default all
R <- 20000
batches <- 20
cases <- jsonlite::read_json("real.json", simplifyVector = TRUE, simplifyDataFrame = FALSE)$cases
corrected <- function(t, t0, a) {
  z0 <- qnorm(mean(t < t0))
  z <- z0 + qnorm(c(.025, .975))
  boot:::norm.inter(t, pnorm(z0 + z / (1 - a * z)))[, 2]
}
# The Monte Carlo standard error of an end, from batches of the samples.
errors <- function(t, interval) {
  ends <- vapply(split(t, rep(seq_len(batches), each = length(t) / batches)), interval, c(0, 0))
  apply(ends, 1, sd) / sqrt(batches)
}
answers <- list()
for (case in Filter(function(case) !length(only) || case$id %in% only, cases)) {
  table <- na.omit(read.csv(file.path(folder, paste0(case$table, ".csv")))[, case$names])
  rows <- parameterEstimates(sem(case$text, table))
  # Estimates only.
  estimate <- function(table)
    sem(case$text, table, se = "none", test = "none", baseline = FALSE, h1 = FALSE)
  keep <- rows$op == ":=" | (!is.na(rows$z) & rows$op == "~")
  values <- function(fit) coef(fit, type = "user")[keep]
  set.seed(1)
  draws <- bootstrapLavaan(estimate(table), R = R, FUN = values)
  draws <- draws[is.finite(draws[, 1]), ]
  draws <- draws[seq_len(batches * (nrow(draws) %/% batches)), ]
  groups <- (seq_len(nrow(table)) - 1) %% min(nrow(table), 500)
  without <- t(vapply(unique(groups), function(k) values(estimate(table[groups != k, ])),
                      rows$est[keep]))
  answers[[case$id]] <- lapply(which(keep), function(k) {
    i <- which(which(keep) == k)
    t <- draws[, i]
    L <- mean(without[, i]) - without[, i]
    a <- sum(L^3) / (6 * sum(L^2)^1.5)
    kinds <- list(
      percentile = function(t) boot:::norm.inter(t, c(.025, .975))[, 2],
      bias_corrected = function(t) corrected(t, rows$est[k], 0),
      bca = function(t) corrected(t, rows$est[k], a))
    list(lhs = rows$lhs[k], op = rows$op[k], rhs = rows$rhs[k], est = rows$est[k], se = sd(t),
         intervals = lapply(kinds, function(kind) kind(t)),
         monte_carlo = lapply(kinds, function(kind) errors(t, kind)))
  })
  cat(case$id, nrow(draws), "samples\n")
  content <- list(origin = paste("lavaan", packageVersion("lavaan"), "by lavaan_bootstrap.R"),
                  samples = R, cases = answers)
  jsonlite::write_json(content, "lavaan_bootstrap.json", digits = I(8), auto_unbox = TRUE)
}
