# Makes lavaan_inference.json: what fits.json does not hold of lavaan's answers (intervals of the
# RMSEA, standardised solution, observed information, delta method, residual correlations).
#
#   Rscript lavaan_inference.R    (in this folder; R packages lavaan and jsonlite)
suppressMessages(library(lavaan))
cases <- jsonlite::read_json("fits.json", simplifyVector = TRUE, simplifyDataFrame = FALSE)$cases
wanted <- c("fit009", "fit014", "fit023", "fit036", "fit053", "fit064", "fit070", "fit123")
answers <- list()
for (case in Filter(function(case) case$id %in% wanted, cases)) {
  d <- case$d
  v <- paste0("x", seq_len(d) - 1)
  S <- matrix(unlist(case$S), d, byrow = TRUE, dimnames = list(v, v))
  pairs <- function(edges) lapply(seq_len(NROW(edges)), function(k) v[unlist(edges[k, ]) + 1])
  directed <- pairs(case$directed)
  bidirected <- pairs(case$bidirected)
  has <- function(a, b) any(vapply(bidirected, setequal, NA, c(a, b)))
  lines <- vapply(directed, function(e) sprintf("%s ~ b_%s_%s*%s", e[2], e[2], e[1], e[1]), "")
  for (i in seq_len(d)) for (j in i:d)
    lines <- c(lines, sprintf("%s ~~ %s%s", v[i], if (i == j || has(v[i], v[j])) "" else "0*", v[j]))
  # Total effects as sums over directed paths, the longest way round but with nothing to get wrong.
  paths <- function(from, to) {
    if (from == to) return("1")
    unlist(lapply(Filter(function(e) e[1] == from, directed), function(e)
      if (length(rest <- paths(e[2], to))) paste0("b_", e[2], "_", e[1], "*", rest)))
  }
  for (a in v) for (b in setdiff(v, a)) if (length(p <- paths(a, b)))
    lines <- c(lines, sprintf("t_%s_%s := %s", b, a, paste(p, collapse = " + ")))
  run <- function(information)
    sem(paste(lines, collapse = "\n"), sample.cov = S, sample.nobs = case$n, fixed.x = FALSE,
        likelihood = "normal", meanstructure = FALSE, information = information,
        observed.information = "hessian",
        control = list(iter.max = 20000, eval.max = 40000))
  fit <- run("expected")
  table <- standardizedSolution(fit, se = FALSE)
  expected <- parameterEstimates(fit, remove.nonfree = FALSE)
  observed <- parameterEstimates(run("observed"), remove.nonfree = FALSE)
  keep <- expected$op == ":=" | expected$se > 0
  answers[[case$id]] <- list(
    indices = as.list(fitMeasures(fit, c("rmsea.ci.lower", "rmsea.ci.upper", "rmsea.pvalue"))),
    lhs = expected$lhs[keep], op = expected$op[keep], rhs = expected$rhs[keep],
    est = expected$est[keep], se = expected$se[keep], z = expected$z[keep],
    pvalue = expected$pvalue[keep], se_observed = observed$se[keep], std_all = table$est.std[keep],
    residual_correlations = unclass(resid(fit, type = "cor")$cov)[v, v])
}
content <- list(origin = paste("lavaan", packageVersion("lavaan"), "by lavaan_inference.R"),
                cases = answers)
jsonlite::write_json(content, "lavaan_inference.json", digits = I(12), auto_unbox = TRUE, na = "null")
