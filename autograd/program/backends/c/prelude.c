// What every generated file begins with. Text between here and the end of prelude.c is fixed: no program changes it.
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef int64_t i64;
#define INLINE static inline __attribute__((always_inline))  // a loop with a call in it is not vectorised

#ifdef _WIN32
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

#if defined(__AVX512F__)
#define VECTOR 64  // bytes
#elif defined(__AVX__)
#define VECTOR 32
#else
#define VECTOR 16
#endif

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define madd(a, b, c) __builtin_fma(a, b, c)
#define maddf(a, b, c) __builtin_fmaf(a, b, c)
#else
#define madd(a, b, c) ((a) * (b) + (c))
#define maddf(a, b, c) ((a) * (b) + (c))
#endif

// OpenMP's own max starts at the largest finite number in some compilers, and passes over NaN.
#pragma omp declare reduction(largest : double, float : omp_out = (omp_in >= omp_out) | (omp_in != omp_in) ? \
                              omp_in : omp_out) initializer(omp_priv = -INFINITY)
#pragma omp declare reduction(smallest : double, float : omp_out = (omp_in <= omp_out) | (omp_in != omp_in) ? \
                              omp_in : omp_out) initializer(omp_priv = INFINITY)

// --- exp and tanh, without branches, so that a loop over them is vectorised --------------------------------------
//
// x = k ln 2 + r with |r| <= ln 2 / 2. Adding 1.5 * 2^52 rounds to whole numbers and leaves k in the last bits. The
// series of exp(r) - 1 has terms until the next one is below half a unit. exp is within 1 unit of the last place, tanh
// within 2.5. A comparison with NaN is false: NaN stays.

INLINE double series(double r) {
    double s = 1.0 / 6227020800.0;
    s = madd(s, r, 1.0 / 479001600.0);
    s = madd(s, r, 1.0 / 39916800.0);
    s = madd(s, r, 1.0 / 3628800.0);
    s = madd(s, r, 1.0 / 362880.0);
    s = madd(s, r, 1.0 / 40320.0);
    s = madd(s, r, 1.0 / 5040.0);
    s = madd(s, r, 1.0 / 720.0);
    s = madd(s, r, 1.0 / 120.0);
    s = madd(s, r, 1.0 / 24.0);
    s = madd(s, r, 1.0 / 6.0);
    s = madd(s, r, 0.5);
    return madd(s * r, r, r);
}

INLINE float seriesf(float r) {
    float s = 1.0f / 5040.0f;
    s = maddf(s, r, 1.0f / 720.0f);
    s = maddf(s, r, 1.0f / 120.0f);
    s = maddf(s, r, 1.0f / 24.0f);
    s = maddf(s, r, 1.0f / 6.0f);
    s = maddf(s, r, 0.5f);
    return maddf(s * r, r, r);
}

// 2^k for the k that stands in the last bits of a rounded number; shifts instead of tables.
INLINE double power_of_two(double rounded) {
    i64 bits;
    double out;
    memcpy(&bits, &rounded, 8);
    bits = (i64)((uint64_t)(bits + 1023) << 52);
    memcpy(&out, &bits, 8);
    return out;
}

INLINE float power_of_twof(float rounded) {
    int32_t bits;
    float out;
    memcpy(&bits, &rounded, 4);
    bits = (int32_t)((uint32_t)(bits + 127) << 23);
    memcpy(&out, &bits, 4);
    return out;
}

INLINE double quick_exp(double x) {
    const double round = 0x1.8p52;
    x = x > 710.0 ? 710.0 : x;
    x = x < -746.0 ? -746.0 : x;
    double k = (x * 1.4426950408889634 + round) - round;
    double r = madd(k, -1.90821492927058770e-10, madd(k, -6.93147180369123816e-1, x));
    double half = (k * 0.5 + round) - round;  // in two steps: 2^k itself may be too large or too small
    double y = series(r) + 1.0;
    return y * power_of_two(half + round) * power_of_two((k - half) + round);
}

INLINE float quick_expf(float x) {
    const float round = 0x1.8p23f;
    x = x > 89.0f ? 89.0f : x;
    x = x < -104.0f ? -104.0f : x;
    float k = (x * 1.44269504f + round) - round;
    float r = maddf(k, 2.12194440e-4f, maddf(k, -0.693359375f, x));
    float half = (k * 0.5f + round) - round;
    float y = seriesf(r) + 1.0f;
    return y * power_of_twof(half + round) * power_of_twof((k - half) + round);
}

// tanh(x) = e / (e + 2) with e = exp(2x) - 1, which keeps its digits near 0.
INLINE double quick_tanh(double x) {
    const double round = 0x1.8p52;
    double y = 2.0 * fabs(x);
    y = y > 44.0 ? 44.0 : y;
    double k = (y * 1.4426950408889634 + round) - round;
    double r = madd(k, -1.90821492927058770e-10, madd(k, -6.93147180369123816e-1, y));
    double power = power_of_two(k + round);
    double e = madd(series(r), power, power - 1.0);
    return copysign(e / (e + 2.0), x);
}

INLINE float quick_tanhf(float x) {
    const float round = 0x1.8p23f;
    float y = 2.0f * fabsf(x);
    y = y > 20.0f ? 20.0f : y;
    float k = (y * 1.44269504f + round) - round;
    float r = maddf(k, 2.12194440e-4f, maddf(k, -0.693359375f, y));
    float power = power_of_twof(k + round);
    float e = maddf(seriesf(r), power, power - 1.0f);
    return copysignf(e / (e + 2.0f), x);
}

// --- rows by ids -----------------------------------------------------------------------------------------------------

// The first id outside [low, high] that is not `also`, as 1 + its place; 0 if there is none.
static i64 first_outside(const i64 *ids, i64 n, i64 low, i64 high, i64 also, int has_also) {
    for (i64 j = 0; j < n; j++)
        if ((ids[j] < low || ids[j] > high) && !(has_also && ids[j] == also)) return j + 1;
    return 0;
}

static void take_rows(const char *x, const i64 *ids, char *out, i64 n, i64 bytes) {
    for (i64 j = 0; j < n; j++) memcpy(out + j * bytes, x + ids[j] * bytes, (size_t)bytes);
}

// --- Python's side, reached through pointers: no header of Python is needed ------------------------------------------

typedef struct {
    void *buf, *obj;
    intptr_t len, itemsize;
    int readonly, ndim;
    char *format;
    intptr_t *shape, *strides, *suboffsets;
    void *internal;
} View;

static struct {
    void *(*list_item)(void *, intptr_t);
    int (*get_buffer)(void *, View *, int);
    void (*release_buffer)(View *);
    double (*as_double)(void *);
    void *(*error)(void);
    intptr_t (*list_size)(void *);
    void *(*let_others_run)(void);
    void (*take_turn)(void *);
    void (*gemm)(int, int, int, blas_int, blas_int, blas_int, double, const double *, blas_int, const double *,
                 blas_int, double, double *, blas_int);
    void (*gemmf)(int, int, int, blas_int, blas_int, blas_int, float, const float *, blas_int, const float *,
                  blas_int, float, float *, blas_int);
} given;

EXPORT void handgrad_start(void **pointers) { memcpy(&given, pointers, sizeof given); }

// Lists of floats. Nothing here makes an object, counts a reference or runs code of Python's, and the caller holds
// Python's lock: no list changes between the check of its length and the last read.

typedef struct {
    intptr_t references;
    void *type;
} Object;  // what every object of Python begins with, in a Python that has a lock

INLINE double *read_float(void *x, void *const *types, double *out) {
    if (!x || ((Object *)x)->type != types[0]) return 0;
    *out = given.as_double(x);
    return out + 1;
}

// Read a float, or lists of floats of this shape, to `out`. The end of what was written; 0 if it is anything else.
static double *read_nest(void *x, i64 axes, const i64 *shape, void *const *types, double *out) {
    if (!axes) return read_float(x, types, out);
    if (!x || ((Object *)x)->type != types[1] || given.list_size(x) != *shape) return 0;
    if (axes == 1) {
        for (i64 j = 0; j < *shape && out; j++) out = read_float(given.list_item(x, j), types, out);
        return out;
    }
    for (i64 j = 0; j < *shape && out; j++) out = read_nest(given.list_item(x, j), axes - 1, shape + 1, types, out);
    return out;
}

// Read a list of `n` nests to an array; `shapes` has for each its number of axes and the lengths along them, and
// `types` are float and list. Whether all was as it should be.
EXPORT int handgrad_read(void *nests, i64 n, const i64 *shapes, void *const *types, void *array) {
    View view;
    if (given.get_buffer(array, &view, 0)) return 0;
    double *out = view.buf;
    for (i64 j = 0; j < n && out; j++) {
        out = read_nest(given.list_item(nests, j), *shapes, shapes + 1, types, out);
        shapes += 1 + *shapes;
    }
    given.release_buffer(&view);
    return out != 0;
}

enum { ARRAY, DOUBLE, FLOAT };

typedef struct {
    i64 inputs, outputs;
    const unsigned char *kinds;  // of each input
    const i64 *bytes;            // of each input that is an array
    i64 (*run)(void *const *in, void *const *out, void *const *fixed, char *work);
} Program;

static int pointer_to(void *object, i64 bytes, void **out) {
    View view;
    if (given.get_buffer(object, &view, 0)) return 0;
    *out = view.buf;
    int fits = view.len == bytes && (uintptr_t)view.buf % (uintptr_t)view.itemsize == 0;
    given.release_buffer(&view);  // the list that it is in keeps it alive
    return fits;
}

// 0; -1 if an input is no contiguous, aligned array of its size; or what a failed check left, see `run`.
static i64 call_program(const Program *p, void *inputs, void *outputs, void *const *fixed, char *work) {
    void **in = (void **)work, **out = in + p->inputs;
    double *numbers = (double *)(out + p->outputs);
    for (i64 n = 0; n < p->inputs; n++) {
        void *object = given.list_item(inputs, n);
        if (p->kinds[n] == ARRAY) {
            if (!pointer_to(object, p->bytes[n], in + n)) return -1;
            continue;
        }
        double number = given.as_double(object);
        if (number == -1.0 && given.error()) return -1;
        in[n] = numbers + n;
        if (p->kinds[n] == DOUBLE) numbers[n] = number;
        else *(float *)(numbers + n) = (float)number;
    }
    for (i64 n = 0; n < p->outputs; n++) {
        View view;
        if (given.get_buffer(given.list_item(outputs, n), &view, 0)) return -1;
        out[n] = view.buf;
        given.release_buffer(&view);
    }
    void *thread = given.let_others_run();
    i64 found = p->run(in, out, fixed, work + (((p->inputs * 2 + p->outputs) * 8 + 63) & ~(i64)63));
    given.take_turn(thread);
    return found;
}
