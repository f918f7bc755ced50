from burnpy.backends._kernels import BUILDS as BUILDS
from burnpy.backends._kernels import CPU_BUILDS as CPU_BUILDS
from burnpy.backends._kernels import MAX_AXES as MAX_AXES
from burnpy.backends._kernels import Operator as Operator
from burnpy.backends._kernels import Plan as Plan
from burnpy.backends._kernels import __reduce_cython__ as __reduce_cython__
from burnpy.backends._kernels import __setstate_cython__ as __setstate_cython__
from burnpy.backends._kernels import __test__ as __test__
