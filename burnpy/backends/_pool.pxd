ctypedef void (*Work)(const void *job, Py_ssize_t part, void *scratch) noexcept nogil

cdef Py_ssize_t run(Work work, const void *job, Py_ssize_t parts, int threads, size_t scratch) except -1
