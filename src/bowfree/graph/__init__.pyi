from .identification import Identification as Identification
from .paths import Path as Path
from .paths import Trek as Trek
