// Once for double and once for float: `real` is the type, and a name that ends in _R gets C's ending for it.

// Several numbers at once, as many as the processor takes; they may lie anywhere in memory.
typedef real vector_R __attribute__((vector_size(VECTOR), aligned(sizeof(real)), may_alias));

// c = a b. The columns of b and c lie side by side: as many as fit a vector, and four rows, are computed together.
INLINE void product_R(const real *a, i64 ai, i64 ak, const real *b, i64 bk, real *c, i64 ci, i64 m, i64 k, i64 n) {
    const i64 width = VECTOR / sizeof(real);
    i64 j = 0;
    for (; j + width <= n; j += width) {
        i64 i = 0;
        for (; i + 4 <= m; i += 4) {
            const real *x = a + i * ai;
            vector_R s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
            for (i64 p = 0; p < k; p++) {
                const vector_R y = *(const vector_R *)(b + p * bk + j);
                s0 += x[p * ak] * y;
                s1 += x[p * ak + ai] * y;
                s2 += x[p * ak + 2 * ai] * y;
                s3 += x[p * ak + 3 * ai] * y;
            }
            real *z = c + i * ci + j;
            *(vector_R *)z = s0;
            *(vector_R *)(z + ci) = s1;
            *(vector_R *)(z + 2 * ci) = s2;
            *(vector_R *)(z + 3 * ci) = s3;
        }
        for (; i < m; i++) {
            vector_R s = {0};
            for (i64 p = 0; p < k; p++) s += a[i * ai + p * ak] * *(const vector_R *)(b + p * bk + j);
            *(vector_R *)(c + i * ci + j) = s;
        }
    }
    if (j == n) return;
    for (i64 i = 0; i < m; i++) {
        for (i64 l = j; l < n; l++) c[i * ci + l] = 0;
        for (i64 p = 0; p < k; p++) {
            const real x = a[i * ai + p * ak];
#pragma omp simd
            for (i64 l = j; l < n; l++) c[i * ci + l] += x * b[p * bk + l];
        }
    }
}

// The same where b has few columns: dot products.
INLINE void dots_R(const real *a, i64 ai, i64 ak, const real *b, i64 bk, i64 bj, real *c, i64 ci, i64 cj, i64 m,
                          i64 k, i64 n) {
    for (i64 i = 0; i < m; i++)
        for (i64 j = 0; j < n; j++) {
            real s = 0;
#pragma omp simd reduction(+ : s)
            for (i64 p = 0; p < k; p++) s += a[i * ai + p * ak] * b[p * bk + j * bj];
            c[i * ci + j * cj] = s;
        }
}

// A matrix of k rows and n columns, row by row.
INLINE void lay_rows_R(const real *x, i64 down, i64 along, real *out, i64 k, i64 n) {
    for (i64 p = 0; p < k; p++)
        for (i64 j = 0; j < n; j++) out[p * n + j] = x[p * down + j * along];
}

static void put_rows_R(const real *x, const i64 *ids, real *out, i64 n, i64 width, i64 rows) {
    memset(out, 0, (size_t)(rows * width) * sizeof(real));
    for (i64 i = 0; i < n; i++) {
        real *row = out + ids[i] * width;
#pragma omp simd
        for (i64 j = 0; j < width; j++) row[j] += x[i * width + j];
    }
}

static void gather_R(const real *x, const i64 *places, real *out, i64 n) {
    for (i64 j = 0; j < n; j++) out[j] = x[places[j]];
}

static void scatter_R(const real *x, const i64 *places, real *out, i64 n, i64 size) {
    memset(out, 0, (size_t)size * sizeof(real));
    for (i64 j = 0; j < n; j++) out[places[j]] += x[j];
}

// Along the middle of three axes.
static void cumsum_R(const real *x, real *out, i64 outer, i64 n, i64 inner) {
    for (i64 o = 0; o < outer; o++)
        for (i64 j = 0; j < n; j++)
            for (i64 i = 0; i < inner; i++) {
                i64 at = (o * n + j) * inner + i;
                out[at] = j ? out[at - inner] + x[at] : x[at];
            }
}

// The place of the first largest number, or of the first NaN; with sign -1, of the smallest.
static void argmax_R(const real *x, i64 *out, i64 outer, i64 n, i64 inner, real sign) {
    for (i64 o = 0; o < outer; o++)
        for (i64 i = 0; i < inner; i++) {
            const real *line = x + o * n * inner + i;
            i64 best = 0;
            for (i64 j = 1; j < n && line[best * inner] == line[best * inner]; j++) {
                real y = line[j * inner];
                if (sign * y > sign * line[best * inner] || y != y) best = j;
            }
            out[o * inner + i] = best;
        }
}
