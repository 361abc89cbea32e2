from .identification import Identification as Identification
from .metrics import accuracy as accuracy
from .metrics import shd as shd
from .paths import Path as Path
from .paths import Trek as Trek
