# Adds lavaan's answers to the models and data in lavaan_constraints.json: equal and fixed
# parameters, defined parameters.
#
#   Rscript lavaan_constraints.R    (in this folder; R packages lavaan and jsonlite)
suppressMessages(library(lavaan))
content <- jsonlite::read_json("lavaan_constraints.json")
matrix_of <- function(rows) do.call(rbind, lapply(rows, unlist))
control <- list(iter.max = 20000, eval.max = 40000)
answer <- function(fit) {
  table <- parameterEstimates(fit, remove.nonfree = FALSE)
  table <- table[table$op %in% c("~", "~~", ":="), ]
  table$std.all <- standardizedSolution(fit, se = FALSE)[rownames(table), "est.std"]
  measures <- fitMeasures(fit)
  wanted <- c("chisq", "df", "npar", "logl", "rmsea", "srmr", "chisq.scaled", "chisq.scaling.factor")
  list(measures = as.list(measures[intersect(wanted, names(measures))]),
       estimates = lapply(seq_len(nrow(table)), function(k)
         as.list(unname(table[k, c("lhs", "op", "rhs", "est", "se", "std.all")]))))
}
for (k in seq_along(content$cases)) {
  case <- content$cases[[k]]
  data <- content$data[[case$data]]
  S <- matrix_of(data$S)
  dimnames(S) <- list(unlist(data$names), unlist(data$names))
  run <- function(...) sem(case$text, fixed.x = FALSE, control = control, ...)
  moments <- function(...) answer(run(sample.cov = S, sample.nobs = data$n,
                                      sample.cov.rescale = FALSE, meanstructure = FALSE, ...))
  case$ml <- moments()
  case$observed <- moments(information = "observed", observed.information = "hessian")
  if (!is.null(data$rows)) {
    rows <- as.data.frame(matrix_of(data$rows))
    names(rows) <- unlist(data$names)
    case$mlm <- answer(run(data = rows, estimator = "MLM"))
    case$mlr <- answer(run(data = rows, estimator = "MLR"))
  }
  content$cases[[k]] <- case
}
content$lavaan <- as.character(packageVersion("lavaan"))
jsonlite::write_json(content, "lavaan_constraints.json", digits = I(12), auto_unbox = TRUE, na = "null")
