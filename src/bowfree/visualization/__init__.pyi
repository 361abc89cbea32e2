from . import plot as plot
from . import report as report
