from burnpy.backends._kernels_avx2 import BUILDS as BUILDS
from burnpy.backends._kernels_avx2 import CPU_BUILDS as CPU_BUILDS
from burnpy.backends._kernels_avx2 import MAX_AXES as MAX_AXES
from burnpy.backends._kernels_avx2 import Operator as Operator
from burnpy.backends._kernels_avx2 import Plan as Plan
from burnpy.backends._kernels_avx2 import __reduce_cython__ as __reduce_cython__
from burnpy.backends._kernels_avx2 import __setstate_cython__ as __setstate_cython__
from burnpy.backends._kernels_avx2 import __test__ as __test__
