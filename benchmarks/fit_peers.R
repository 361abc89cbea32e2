# Times ggm and lavaan inside R, so that R's start-up is not counted. Called by bench_fit.py:
#
#   Rscript fit_peers.R cases.R results.csv
#
# cases.R defines `cases`, a list of list(S, n, directed, bidirected), edges as two-column matrices
# of 1-based indices. One row per case and program: seconds per fit, and the fitted Sigma.
arguments <- commandArgs(trailingOnly = TRUE)
source(arguments[1])
suppressMessages({
  library(ggm)
  library(lavaan)
})

ggm_fit <- function(case) {
  d <- nrow(case$S)
  amat <- matrix(0, d, d, dimnames = dimnames(case$S))
  amat[case$directed] <- 1
  amat[case$bidirected] <- 100
  amat[case$bidirected[, 2:1, drop = FALSE]] <- 100
  function() fitAncestralGraph(amat, case$S, case$n, tol = 1e-6)$Shat
}

lavaan_fit <- function(case) {
  v <- rownames(case$S)
  spouses <- matrix(FALSE, length(v), length(v))
  spouses[case$bidirected] <- TRUE
  spouses <- spouses | t(spouses)
  lines <- sprintf("%s ~ %s", v[case$directed[, 2]], v[case$directed[, 1]])
  for (i in seq_along(v)) for (j in i:length(v))
    lines <- c(lines, sprintf("%s ~~ %s%s", v[i], if (i == j || spouses[i, j]) "" else "0*", v[j]))
  model <- paste(lines, collapse = "\n")
  # The fit alone: no standard errors, no test, no baseline model.
  function() {
    fit <- sem(model, sample.cov = case$S, sample.nobs = case$n, sample.cov.rescale = FALSE,
               fixed.x = FALSE, likelihood = "normal", meanstructure = FALSE, se = "none",
               test = "none", baseline = FALSE, h1 = FALSE)
    unclass(fitted(fit)$cov)[v, v]
  }
}

seconds_per_call <- function(call) {
  cpu <- function(times) sum(system.time(for (r in seq_len(times)) call())[c(1, 2)])
  repeats <- max(1, ceiling(0.1 / max(cpu(1), 1e-3)))
  median(replicate(3, cpu(repeats) / repeats))
}

rows <- list()
for (k in seq_along(cases)) for (program in c("ggm", "lavaan")) {
  call <- (if (program == "ggm") ggm_fit else lavaan_fit)(cases[[k]])
  Sigma <- tryCatch(suppressWarnings(call()), error = function(e) NULL)
  seconds <- if (is.null(Sigma)) NA else suppressWarnings(seconds_per_call(call))
  values <- if (is.null(Sigma)) "" else paste(format(Sigma, digits = 17, trim = TRUE), collapse = " ")
  rows[[length(rows) + 1]] <- data.frame(case = k - 1, program, seconds, Sigma = values)
}
write.csv(do.call(rbind, rows), arguments[2], row.names = FALSE)
versions <- vapply(c("ggm", "lavaan"), function(p) as.character(packageVersion(p)), "")
cat(R.version.string, paste(names(versions), versions), sep = ", ")
