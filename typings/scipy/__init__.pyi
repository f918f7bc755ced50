from . import sparse as sparse
