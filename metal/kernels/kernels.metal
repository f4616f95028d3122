// Every kernel of package kernels for GPUs: the one source that Apple's
// compiler takes at run time, clang makes PTX of, and the tests compile as C++.
//
// table.go beside this file gives each kernel's formula and arguments; a test
// compares. Buffers come first, then parameters of four bytes. One thread is
// one point of the grid; where a dimension is a parameter, threads beyond it do
// nothing. Only what all three compilers know is used: float, half and integers,
// the address spaces, functions of metal::precise that package shim has. There
// is no double on Apple's GPUs, so that long sums are added in parts.

#include <metal_stdlib>

// The activation codes of the linear kernels.
enum { act_none = 0, act_relu = 1, act_tanh = 2, act_sigmoid = 3 };

static inline float relu_of(float v) { return v < 0.0f ? 0.0f : v; }

// exp(-v) of a very negative v is infinite, its reciprocal the right 0.
static inline float sigmoid_of(float v) { return 1.0f / (1.0f + metal::precise::exp(-v)); }

static inline float activate(int act, float v) {
    switch (act) {
    case act_relu: return relu_of(v);
    case act_tanh: return metal::precise::tanh(v);
    case act_sigmoid: return sigmoid_of(v);
    }
    return v;
}

// dy times the activation's slope, from its output y.
static inline float slope(int act, float dy, float y) {
    switch (act) {
    case act_relu: return y > 0.0f ? dy : 0.0f;
    case act_tanh: return dy * (1.0f - y * y);
    case act_sigmoid: return dy * y * (1.0f - y);
    }
    return dy;
}

// Where row and column lie in a matrix of that width; 64 bits, since matrices
// may have more than 2^32 values.
static inline ulong at(uint row, int width, uint column) { return ulong(row) * ulong(width) + column; }

// Values that are added in one part of a long sum. A single float would stop
// growing at 2^24 times its summands.
enum { sum_part = 256 };

// The twelve counted operations of the buffer-pool investigation.

kernel void linear_fwd(device const float* x [[buffer(0)]],
                       device const float* w [[buffer(1)]],
                       device const float* bias [[buffer(2)]],
                       device float* y [[buffer(3)]],
                       constant int& batch [[buffer(4)]],
                       constant int& out [[buffer(5)]],
                       constant int& in [[buffer(6)]],
                       constant int& act [[buffer(7)]],
                       metal::uint2 gid [[thread_position_in_grid]]) {
    uint n = gid.x, r = gid.y;
    if (n >= uint(out) || r >= uint(batch)) return;
    float sum = 0.0f;
    for (uint k = 0; k < uint(in); k++) sum += x[at(r, in, k)] * w[at(n, in, k)];
    y[at(r, out, n)] = activate(act, sum + bias[n]);
}

kernel void linear_bwd_input(device const float* dy [[buffer(0)]],
                             device const float* w [[buffer(1)]],
                             device const float* y [[buffer(2)]],
                             device float* dx [[buffer(3)]],
                             constant int& batch [[buffer(4)]],
                             constant int& out [[buffer(5)]],
                             constant int& in [[buffer(6)]],
                             constant int& act [[buffer(7)]],
                             metal::uint2 gid [[thread_position_in_grid]]) {
    uint k = gid.x, r = gid.y;
    if (k >= uint(in) || r >= uint(batch)) return;
    float sum = 0.0f;
    for (uint n = 0; n < uint(out); n++) {
        ulong p = at(r, out, n);
        sum += slope(act, dy[p], y[p]) * w[at(n, in, k)];
    }
    dx[at(r, in, k)] = sum;
}

// The thread of a row's first column adds the row's bias as well.
kernel void linear_bwd_weights(device const float* dy [[buffer(0)]],
                               device const float* x [[buffer(1)]],
                               device const float* y [[buffer(2)]],
                               device float* dw [[buffer(3)]],
                               device float* db [[buffer(4)]],
                               constant int& batch [[buffer(5)]],
                               constant int& out [[buffer(6)]],
                               constant int& in [[buffer(7)]],
                               constant int& act [[buffer(8)]],
                               metal::uint2 gid [[thread_position_in_grid]]) {
    uint k = gid.x, n = gid.y;
    if (n >= uint(out)) return;
    float inv = 1.0f / float(batch);
    float weight = 0.0f, shift = 0.0f;
    for (uint r = 0; r < uint(batch); r++) {
        ulong p = at(r, out, n);
        float delta = inv * slope(act, dy[p], y[p]);
        shift += delta;
        if (k < uint(in)) weight += delta * x[at(r, in, k)];
    }
    if (k == 0) db[n] += shift;
    if (k < uint(in)) dw[at(n, in, k)] += weight;
}

kernel void adam_step(device float* w [[buffer(0)]],
                      device const float* g [[buffer(1)]],
                      device float* m [[buffer(2)]],
                      device float* v [[buffer(3)]],
                      constant float& lr [[buffer(4)]],
                      constant float& b1 [[buffer(5)]],
                      constant float& b2 [[buffer(6)]],
                      constant float& b1t [[buffer(7)]],
                      constant float& b2t [[buffer(8)]],
                      constant float& eps [[buffer(9)]],
                      constant float& wd [[buffer(10)]],
                      uint i [[thread_position_in_grid]]) {
    float moment = b1 * m[i] + (1.0f - b1) * g[i];
    float square = b2 * v[i] + (1.0f - b2) * g[i] * g[i];
    m[i] = moment;
    v[i] = square;
    float step = (moment / (1.0f - b1t)) / (metal::precise::sqrt(square / (1.0f - b2t)) + eps);
    w[i] -= lr * wd * w[i] + lr * step;
}

kernel void mse_grad(device const float* p [[buffer(0)]],
                     device const float* t [[buffer(1)]],
                     device float* g [[buffer(2)]],
                     constant float& n [[buffer(3)]],
                     uint i [[thread_position_in_grid]]) {
    g[i] = (2.0f / n) * (p[i] - t[i]);
}

kernel void matmul(device const float* a [[buffer(0)]],
                   device const float* b [[buffer(1)]],
                   device float* c [[buffer(2)]],
                   constant int& m [[buffer(3)]],
                   constant int& n [[buffer(4)]],
                   constant int& k [[buffer(5)]],
                   metal::uint2 gid [[thread_position_in_grid]]) {
    uint column = gid.x, row = gid.y;
    if (column >= uint(n) || row >= uint(m)) return;
    float sum = 0.0f;
    for (uint i = 0; i < uint(k); i++) sum += a[at(row, k, i)] * b[at(i, n, column)];
    c[at(row, n, column)] = sum;
}

kernel void add(device const float* a [[buffer(0)]],
                device const float* b [[buffer(1)]],
                device float* c [[buffer(2)]],
                uint i [[thread_position_in_grid]]) {
    c[i] = a[i] + b[i];
}

kernel void relu(device const float* x [[buffer(0)]],
                 device float* y [[buffer(1)]],
                 uint i [[thread_position_in_grid]]) {
    y[i] = relu_of(x[i]);
}

kernel void sigmoid(device const float* x [[buffer(0)]],
                    device float* y [[buffer(1)]],
                    uint i [[thread_position_in_grid]]) {
    y[i] = sigmoid_of(x[i]);
}

kernel void tanh(device const float* x [[buffer(0)]],
                 device float* y [[buffer(1)]],
                 uint i [[thread_position_in_grid]]) {
    y[i] = metal::precise::tanh(x[i]);
}

kernel void mat_transpose(device const float* a [[buffer(0)]],
                          device float* b [[buffer(1)]],
                          constant int& rows [[buffer(2)]],
                          constant int& cols [[buffer(3)]],
                          metal::uint2 gid [[thread_position_in_grid]]) {
    uint x = gid.x, y = gid.y;
    if (x >= uint(cols) || y >= uint(rows)) return;
    b[at(x, rows, y)] = a[at(y, cols, x)];
}

kernel void add_bias(device float* x [[buffer(0)]],
                     device const float* bias [[buffer(1)]],
                     constant int& cols [[buffer(2)]],
                     metal::uint2 gid [[thread_position_in_grid]]) {
    if (gid.x >= uint(cols)) return;
    x[at(gid.y, cols, gid.x)] += bias[gid.x];
}

kernel void copy_inplace(device const float* src [[buffer(0)]],
                         device float* dst [[buffer(1)]],
                         uint i [[thread_position_in_grid]]) {
    dst[i] = src[i];
}

// Elementwise pieces, forward and backward.

kernel void sub(device const float* a [[buffer(0)]],
                device const float* b [[buffer(1)]],
                device float* c [[buffer(2)]],
                uint i [[thread_position_in_grid]]) {
    c[i] = a[i] - b[i];
}

kernel void mul(device const float* a [[buffer(0)]],
                device const float* b [[buffer(1)]],
                device float* c [[buffer(2)]],
                uint i [[thread_position_in_grid]]) {
    c[i] = a[i] * b[i];
}

kernel void square(device const float* x [[buffer(0)]],
                   device float* y [[buffer(1)]],
                   uint i [[thread_position_in_grid]]) {
    y[i] = x[i] * x[i];
}

kernel void affine(device const float* x [[buffer(0)]],
                   device float* y [[buffer(1)]],
                   constant float& a [[buffer(2)]],
                   constant float& b [[buffer(3)]],
                   uint i [[thread_position_in_grid]]) {
    y[i] = a * x[i] + b;
}

kernel void axpy(device const float* x [[buffer(0)]],
                 device float* y [[buffer(1)]],
                 constant float& a [[buffer(2)]],
                 uint i [[thread_position_in_grid]]) {
    y[i] += a * x[i];
}

kernel void fill(device float* y [[buffer(0)]],
                 constant float& v [[buffer(1)]],
                 uint i [[thread_position_in_grid]]) {
    y[i] = v;
}

kernel void relu_bwd(device const float* dy [[buffer(0)]],
                     device const float* y [[buffer(1)]],
                     device float* dx [[buffer(2)]],
                     uint i [[thread_position_in_grid]]) {
    dx[i] = slope(act_relu, dy[i], y[i]);
}

kernel void sigmoid_bwd(device const float* dy [[buffer(0)]],
                        device const float* y [[buffer(1)]],
                        device float* dx [[buffer(2)]],
                        uint i [[thread_position_in_grid]]) {
    dx[i] = slope(act_sigmoid, dy[i], y[i]);
}

kernel void tanh_bwd(device const float* dy [[buffer(0)]],
                     device const float* y [[buffer(1)]],
                     device float* dx [[buffer(2)]],
                     uint i [[thread_position_in_grid]]) {
    dx[i] = slope(act_tanh, dy[i], y[i]);
}

kernel void square_bwd(device const float* dy [[buffer(0)]],
                       device const float* x [[buffer(1)]],
                       device float* dx [[buffer(2)]],
                       uint i [[thread_position_in_grid]]) {
    dx[i] = 2.0f * x[i] * dy[i];
}

// Rows, axes and broadcasts.

// The row's maximum is subtracted first, so that no exponent overflows. A NaN
// is no maximum, but makes the sum and with it the row NaN.
kernel void softmax(device const float* x [[buffer(0)]],
                    device float* y [[buffer(1)]],
                    constant int& rows [[buffer(2)]],
                    constant int& cols [[buffer(3)]],
                    uint r [[thread_position_in_grid]]) {
    if (r >= uint(rows) || cols == 0) return;
    float top = x[at(r, cols, 0)];
    for (uint c = 1; c < uint(cols); c++) {
        float v = x[at(r, cols, c)];
        top = v > top ? v : top;
    }
    float sum = 0.0f;
    for (uint c = 0; c < uint(cols); c++) {
        float e = metal::precise::exp(x[at(r, cols, c)] - top);
        y[at(r, cols, c)] = e;
        sum += e;
    }
    for (uint c = 0; c < uint(cols); c++) y[at(r, cols, c)] /= sum;
}

kernel void softmax_bwd(device const float* dy [[buffer(0)]],
                        device const float* y [[buffer(1)]],
                        device float* dx [[buffer(2)]],
                        constant int& rows [[buffer(3)]],
                        constant int& cols [[buffer(4)]],
                        uint r [[thread_position_in_grid]]) {
    if (r >= uint(rows)) return;
    float dot = 0.0f;
    for (uint c = 0; c < uint(cols); c++) dot += dy[at(r, cols, c)] * y[at(r, cols, c)];
    for (uint c = 0; c < uint(cols); c++) {
        ulong p = at(r, cols, c);
        dx[p] = y[p] * (dy[p] - dot);
    }
}

kernel void sum_axis(device const float* x [[buffer(0)]],
                     device float* y [[buffer(1)]],
                     constant int& outer [[buffer(2)]],
                     constant int& axis [[buffer(3)]],
                     constant int& inner [[buffer(4)]],
                     metal::uint2 gid [[thread_position_in_grid]]) {
    uint i = gid.x, o = gid.y;
    if (i >= uint(inner) || o >= uint(outer)) return;
    ulong p = ulong(o) * ulong(axis) * ulong(inner) + i;
    float sum = 0.0f;
    for (uint a = 0; a < uint(axis);) {
        float part = 0.0f;
        for (uint n = 0; n < sum_part && a < uint(axis); n++, a++, p += uint(inner)) part += x[p];
        sum += part;
    }
    y[at(o, inner, i)] = sum;
}

kernel void sum_axis_bwd(device const float* dy [[buffer(0)]],
                         device float* dx [[buffer(1)]],
                         constant int& outer [[buffer(2)]],
                         constant int& axis [[buffer(3)]],
                         constant int& inner [[buffer(4)]],
                         metal::uint2 gid [[thread_position_in_grid]]) {
    uint i = gid.x, o = gid.y;
    if (i >= uint(inner) || o >= uint(outer)) return;
    ulong p = ulong(o) * ulong(axis) * ulong(inner) + i;
    for (uint a = 0; a < uint(axis); a++, p += uint(inner)) dx[p] = dy[at(o, inner, i)];
}

kernel void mul_broadcast(device const float* a [[buffer(0)]],
                          device const float* b [[buffer(1)]],
                          device float* c [[buffer(2)]],
                          constant int& outer [[buffer(3)]],
                          constant int& inner [[buffer(4)]],
                          metal::uint2 gid [[thread_position_in_grid]]) {
    uint i = gid.x, o = gid.y;
    if (i >= uint(inner) || o >= uint(outer)) return;
    c[at(o, inner, i)] = a[i] * b[at(o, inner, i)];
}

kernel void mul_broadcast_bwd(device const float* dc [[buffer(0)]],
                              device const float* b [[buffer(1)]],
                              device float* da [[buffer(2)]],
                              constant int& outer [[buffer(3)]],
                              constant int& inner [[buffer(4)]],
                              uint i [[thread_position_in_grid]]) {
    if (i >= uint(inner)) return;
    float sum = 0.0f;
    for (uint o = 0; o < uint(outer);) {
        float part = 0.0f;
        for (uint n = 0; n < sum_part && o < uint(outer); n++, o++) part += dc[at(o, inner, i)] * b[at(o, inner, i)];
        sum += part;
    }
    da[i] = sum;
}

// Pieces of a language model.

// Each row over the root of its mean square, times a weight a column.
kernel void rms_norm(device const float* x [[buffer(0)]],
                     device const float* w [[buffer(1)]],
                     device float* y [[buffer(2)]],
                     constant int& rows [[buffer(3)]],
                     constant int& cols [[buffer(4)]],
                     constant float& eps [[buffer(5)]],
                     uint r [[thread_position_in_grid]]) {
    if (r >= uint(rows)) return;
    float sum = 0.0f;
    for (uint c = 0; c < uint(cols);) {
        float part = 0.0f;
        for (uint n = 0; n < sum_part && c < uint(cols); n++, c++) part += x[at(r, cols, c)] * x[at(r, cols, c)];
        sum += part;
    }
    float scale = 1.0f / metal::precise::sqrt(sum / float(cols) + eps);
    for (uint c = 0; c < uint(cols); c++) y[at(r, cols, c)] = x[at(r, cols, c)] * scale * w[c];
}

// Neighbours turn by the angle of their position, of which the table has cosine
// and sine: no compiler's own sine is needed.
kernel void rope(device float* x [[buffer(0)]],
                 device const float* turns [[buffer(1)]],
                 constant int& rows [[buffer(2)]],
                 constant int& heads [[buffer(3)]],
                 constant int& pairs [[buffer(4)]],
                 constant int& from [[buffer(5)]],
                 metal::uint2 gid [[thread_position_in_grid]]) {
    uint pair = gid.x, head = gid.y;
    if (pair >= uint(pairs) || head >= ulong(rows) * ulong(heads)) return;
    ulong p = 2 * at(head, pairs, pair), t = 2 * at(uint(from) + head / uint(heads), pairs, pair);
    float a = x[p], b = x[p + 1];
    x[p] = a * turns[t] - b * turns[t + 1];
    x[p + 1] = a * turns[t + 1] + b * turns[t];
}

// The score of what no row may see yet: its exponent is 0 beside any other.
#define UNSEEN (-1e30f)

// How many heads of keys and values there are for so many heads that share one
// in groups.
static inline ulong shared_heads(int heads, int group) { return (ulong(heads) + ulong(group) - 1) / ulong(group); }

// The last row is at the last position, the row before it at the one before it.
kernel void attention_scores(device const float* q [[buffer(0)]],
                             device const float* k [[buffer(1)]],
                             device float* y [[buffer(2)]],
                             constant int& rows [[buffer(3)]],
                             constant int& heads [[buffer(4)]],
                             constant int& group [[buffer(5)]],
                             constant int& size [[buffer(6)]],
                             constant int& positions [[buffer(7)]],
                             constant float& scale [[buffer(8)]],
                             metal::uint2 gid [[thread_position_in_grid]]) {
    uint p = gid.x, row = gid.y;
    if (group == 0 || p >= uint(positions) || row >= ulong(rows) * ulong(heads)) return;
    if (ulong(p) + ulong(rows) > ulong(positions) + row / uint(heads)) {
        y[at(row, positions, p)] = UNSEEN;
        return;
    }
    ulong key = (ulong(p) * shared_heads(heads, group) + row % uint(heads) / uint(group)) * ulong(size);
    float sum = 0.0f;
    for (uint i = 0; i < uint(size); i++) sum += q[at(row, size, i)] * k[key + i];
    y[at(row, positions, p)] = scale * sum;
}

kernel void attention_mix(device const float* w [[buffer(0)]],
                          device const float* v [[buffer(1)]],
                          device float* y [[buffer(2)]],
                          constant int& rows [[buffer(3)]],
                          constant int& heads [[buffer(4)]],
                          constant int& group [[buffer(5)]],
                          constant int& size [[buffer(6)]],
                          constant int& positions [[buffer(7)]],
                          metal::uint2 gid [[thread_position_in_grid]]) {
    uint i = gid.x, row = gid.y;
    if (group == 0 || i >= uint(size) || row >= ulong(rows) * ulong(heads)) return;
    ulong step = shared_heads(heads, group) * ulong(size);
    ulong at_value = ulong(row % uint(heads) / uint(group)) * ulong(size) + i;
    float sum = 0.0f;
    for (uint p = 0; p < uint(positions);) {
        float part = 0.0f;
        for (uint n = 0; n < sum_part && p < uint(positions); n++, p++, at_value += step)
            part += w[at(row, positions, p)] * v[at_value];
        sum += part;
    }
    y[at(row, size, i)] = sum;
}

kernel void silu_mul(device const float* a [[buffer(0)]],
                     device const float* b [[buffer(1)]],
                     device float* c [[buffer(2)]],
                     uint i [[thread_position_in_grid]]) {
    c[i] = a[i] * sigmoid_of(a[i]) * b[i];
}

// Dequantisation. Blocks lie at any byte.

static inline float half_at(device const uchar* p) {
    return float(as_type<half>(ushort(p[0] | p[1] << 8)));
}

static inline uint word_at(device const uchar* p) {
    return uint(p[0]) | uint(p[1]) << 8 | uint(p[2]) << 16 | uint(p[3]) << 24;
}

// Value i of 32 in 18 bytes: a scale and nibbles, the first 16 values in the
// low ones.
static inline float q4_0_at(device const uchar* blocks, uint i) {
    device const uchar* p = blocks + ulong(i / 32) * 18;
    uint j = i % 32;
    uint q = p[2 + j % 16] >> (4 * (j / 16)) & 15;
    return half_at(p) * float(int(q) - 8);
}

// Value i of 32 in 34 bytes: a scale and signed bytes.
static inline float q8_0_at(device const uchar* blocks, uint i) {
    device const uchar* p = blocks + ulong(i / 32) * 34;
    return half_at(p) * float(as_type<char>(p[2 + i % 32]));
}

// Value i of 256 in 210 bytes: low nibbles, pairs of high bits, 16 signed
// scales and a scale over them, in two halves of four groups of 32 values.
static inline float q6_k_at(device const uchar* blocks, uint i) {
    device const uchar* p = blocks + ulong(i / 256) * 210;
    uint part = i % 256 / 128, group = i % 128 / 32, j = i % 32;
    uint low = p[64 * part + 32 * (group & 1) + j] >> (4 * (group >> 1)) & 15;
    uint high = p[128 + 32 * part + j] >> (2 * group) & 3;
    float scale = half_at(p + 208) * float(as_type<char>(p[192 + 8 * part + 2 * group + j / 16]));
    return scale * float(int(low | high << 4) - 32);
}

// Value i of 32 in 20 bytes: a scale, a minimum and nibbles.
static inline float q4_1_at(device const uchar* blocks, uint i) {
    device const uchar* p = blocks + ulong(i / 32) * 20;
    uint j = i % 32;
    uint q = p[4 + j % 16] >> (4 * (j / 16)) & 15;
    return half_at(p) * float(q) + half_at(p + 2);
}

// Value i of 32 in 22 bytes: a scale, 32 fifth bits and nibbles.
static inline float q5_0_at(device const uchar* blocks, uint i) {
    device const uchar* p = blocks + ulong(i / 32) * 22;
    uint j = i % 32;
    uint q = (p[6 + j % 16] >> (4 * (j / 16)) & 15) | (word_at(p + 2) >> j & 1) << 4;
    return half_at(p) * float(int(q) - 16);
}

// Value i of 32 in 24 bytes: a scale, a minimum, 32 fifth bits and nibbles.
static inline float q5_1_at(device const uchar* blocks, uint i) {
    device const uchar* p = blocks + ulong(i / 32) * 24;
    uint j = i % 32;
    uint q = (p[8 + j % 16] >> (4 * (j / 16)) & 15) | (word_at(p + 4) >> j & 1) << 4;
    return half_at(p) * float(q) + half_at(p + 2);
}

// Value i of 256 in 84 bytes: 16 scales and minima of four bits, bit pairs, a
// scale over the scales and one over the minima.
static inline float q2_k_at(device const uchar* blocks, uint i) {
    device const uchar* p = blocks + ulong(i / 256) * 84;
    uint part = i % 256 / 128, group = i % 128 / 32, j = i % 32;
    uint s = p[8 * part + 2 * group + j / 16];
    uint q = p[16 + 32 * part + j] >> (2 * group) & 3;
    return half_at(p + 80) * float(s & 15) * float(q) - half_at(p + 82) * float(s >> 4);
}

// Value i of 256 in 110 bytes: third bits, bit pairs, 16 scales of six bits and
// a scale over them.
static inline float q3_k_at(device const uchar* blocks, uint i) {
    device const uchar* p = blocks + ulong(i / 256) * 110;
    uint part = i % 256 / 128, group = i % 128 / 32, j = i % 32, n = 8 * part + 2 * group + j / 16;
    uint low = p[96 + n % 8] >> (4 * (n / 8)) & 15, high = p[104 + n % 4] >> (2 * (n / 4)) & 3;
    uint q = (p[32 + 32 * part + j] >> (2 * group) & 3) | (p[j] >> (4 * part + group) & 1) << 2;
    return half_at(p + 108) * float(int(low | high << 4) - 32) * float(int(q) - 4);
}

// The scale and the minimum of 32 values, number j of 8: six bits each in 12
// bytes.
static inline uint scale_of(device const uchar* p, uint j) {
    return j < 4 ? p[j] & 63 : (p[j + 4] & 15) | p[j - 4] >> 6 << 4;
}

static inline uint minimum_of(device const uchar* p, uint j) {
    return j < 4 ? p[j + 4] & 63 : p[j + 4] >> 4 | p[j] >> 6 << 4;
}

// Value i of 256 in 144 bytes: a scale over the scales and one over the minima,
// these, and nibbles.
static inline float q4_k_at(device const uchar* blocks, uint i) {
    device const uchar* p = blocks + ulong(i / 256) * 144;
    uint n = i % 256 / 32, j = i % 32;
    uint q = p[16 + 32 * (n / 2) + j] >> (4 * (n % 2)) & 15;
    return half_at(p) * float(scale_of(p + 4, n)) * float(q) - half_at(p + 2) * float(minimum_of(p + 4, n));
}

// Value i of 256 in 176 bytes: as before, with fifth bits before the nibbles.
static inline float q5_k_at(device const uchar* blocks, uint i) {
    device const uchar* p = blocks + ulong(i / 256) * 176;
    uint n = i % 256 / 32, j = i % 32;
    uint q = (p[48 + 32 * (n / 2) + j] >> (4 * (n % 2)) & 15) | (p[16 + j] >> n & 1) << 4;
    return half_at(p) * float(scale_of(p + 4, n)) * float(q) - half_at(p + 2) * float(minimum_of(p + 4, n));
}

// Level q of 16, which lie closer together around 0: signed bytes, the lowest
// first.
static inline float iq4_level(uint q) {
    uint four = q < 8 ? (q < 4 ? 0xbfad9881u : 0xf6eaddcfu) : (q < 12 ? 0x26190d01u : 0x71594535u);
    return float(as_type<char>(uchar(four >> (8 * (q & 3)))));
}

// Value i of 32 in 18 bytes: a scale and nibbles that number levels.
static inline float iq4_nl_at(device const uchar* blocks, uint i) {
    device const uchar* p = blocks + ulong(i / 32) * 18;
    uint j = i % 32;
    return half_at(p) * iq4_level(p[2 + j % 16] >> (4 * (j / 16)) & 15);
}

// Value i of 256 in 136 bytes: a scale over the scales, eight of these in six
// bits each, and nibbles that number levels.
static inline float iq4_xs_at(device const uchar* blocks, uint i) {
    device const uchar* p = blocks + ulong(i / 256) * 136;
    uint n = i % 256 / 32, j = i % 32;
    uint low = p[4 + n / 2] >> (4 * (n % 2)) & 15, high = p[2 + n / 4] >> (2 * (n % 4)) & 3;
    float scale = half_at(p) * float(int(low | high << 4) - 32);
    return scale * iq4_level(p[8 + 16 * n + j % 16] >> (4 * (j / 16)) & 15);
}

// The upper half of a float.
static inline float bf16_at(device const uchar* blocks, uint i) {
    device const uchar* p = blocks + 2 * ulong(i);
    return as_type<float>(uint(p[0]) << 16 | uint(p[1]) << 24);
}

kernel void dequant_q4_0_f16(device const uchar* blocks [[buffer(0)]],
                             device half* y [[buffer(1)]],
                             uint i [[thread_position_in_grid]]) {
    y[i] = half(q4_0_at(blocks, i));
}

kernel void dequant_q4_0_f32(device const uchar* blocks [[buffer(0)]],
                             device float* y [[buffer(1)]],
                             uint i [[thread_position_in_grid]]) {
    y[i] = q4_0_at(blocks, i);
}

kernel void dequant_q6_k_f16(device const uchar* blocks [[buffer(0)]],
                             device half* y [[buffer(1)]],
                             uint i [[thread_position_in_grid]]) {
    y[i] = half(q6_k_at(blocks, i));
}

kernel void dequant_q6_k_f32(device const uchar* blocks [[buffer(0)]],
                             device float* y [[buffer(1)]],
                             uint i [[thread_position_in_grid]]) {
    y[i] = q6_k_at(blocks, i);
}

kernel void dequant_q8_0_f16(device const uchar* blocks [[buffer(0)]],
                             device half* y [[buffer(1)]],
                             uint i [[thread_position_in_grid]]) {
    y[i] = half(q8_0_at(blocks, i));
}

kernel void dequant_q8_0_f32(device const uchar* blocks [[buffer(0)]],
                             device float* y [[buffer(1)]],
                             uint i [[thread_position_in_grid]]) {
    y[i] = q8_0_at(blocks, i);
}

kernel void dequant_f16_f16(device const uchar* blocks [[buffer(0)]],
                            device half* y [[buffer(1)]],
                            uint i [[thread_position_in_grid]]) {
    device const uchar* p = blocks + 2 * ulong(i);
    y[i] = as_type<half>(ushort(p[0] | p[1] << 8));
}

kernel void dequant_f16_f32(device const uchar* blocks [[buffer(0)]],
                            device float* y [[buffer(1)]],
                            uint i [[thread_position_in_grid]]) {
    y[i] = half_at(blocks + 2 * ulong(i));
}

kernel void dequant_f32_f16(device const uchar* blocks [[buffer(0)]],
                            device half* y [[buffer(1)]],
                            uint i [[thread_position_in_grid]]) {
    y[i] = half(as_type<float>(word_at(blocks + 4 * ulong(i))));
}

kernel void dequant_f32_f32(device const uchar* blocks [[buffer(0)]],
                            device float* y [[buffer(1)]],
                            uint i [[thread_position_in_grid]]) {
    y[i] = as_type<float>(word_at(blocks + 4 * ulong(i)));
}

kernel void dequant_q4_1_f16(device const uchar* blocks [[buffer(0)]],
                             device half* y [[buffer(1)]],
                             uint i [[thread_position_in_grid]]) {
    y[i] = half(q4_1_at(blocks, i));
}

kernel void dequant_q4_1_f32(device const uchar* blocks [[buffer(0)]],
                             device float* y [[buffer(1)]],
                             uint i [[thread_position_in_grid]]) {
    y[i] = q4_1_at(blocks, i);
}

kernel void dequant_q5_0_f16(device const uchar* blocks [[buffer(0)]],
                             device half* y [[buffer(1)]],
                             uint i [[thread_position_in_grid]]) {
    y[i] = half(q5_0_at(blocks, i));
}

kernel void dequant_q5_0_f32(device const uchar* blocks [[buffer(0)]],
                             device float* y [[buffer(1)]],
                             uint i [[thread_position_in_grid]]) {
    y[i] = q5_0_at(blocks, i);
}

kernel void dequant_q5_1_f16(device const uchar* blocks [[buffer(0)]],
                             device half* y [[buffer(1)]],
                             uint i [[thread_position_in_grid]]) {
    y[i] = half(q5_1_at(blocks, i));
}

kernel void dequant_q5_1_f32(device const uchar* blocks [[buffer(0)]],
                             device float* y [[buffer(1)]],
                             uint i [[thread_position_in_grid]]) {
    y[i] = q5_1_at(blocks, i);
}

kernel void dequant_q2_k_f16(device const uchar* blocks [[buffer(0)]],
                             device half* y [[buffer(1)]],
                             uint i [[thread_position_in_grid]]) {
    y[i] = half(q2_k_at(blocks, i));
}

kernel void dequant_q2_k_f32(device const uchar* blocks [[buffer(0)]],
                             device float* y [[buffer(1)]],
                             uint i [[thread_position_in_grid]]) {
    y[i] = q2_k_at(blocks, i);
}

kernel void dequant_q3_k_f16(device const uchar* blocks [[buffer(0)]],
                             device half* y [[buffer(1)]],
                             uint i [[thread_position_in_grid]]) {
    y[i] = half(q3_k_at(blocks, i));
}

kernel void dequant_q3_k_f32(device const uchar* blocks [[buffer(0)]],
                             device float* y [[buffer(1)]],
                             uint i [[thread_position_in_grid]]) {
    y[i] = q3_k_at(blocks, i);
}

kernel void dequant_q4_k_f16(device const uchar* blocks [[buffer(0)]],
                             device half* y [[buffer(1)]],
                             uint i [[thread_position_in_grid]]) {
    y[i] = half(q4_k_at(blocks, i));
}

kernel void dequant_q4_k_f32(device const uchar* blocks [[buffer(0)]],
                             device float* y [[buffer(1)]],
                             uint i [[thread_position_in_grid]]) {
    y[i] = q4_k_at(blocks, i);
}

kernel void dequant_q5_k_f16(device const uchar* blocks [[buffer(0)]],
                             device half* y [[buffer(1)]],
                             uint i [[thread_position_in_grid]]) {
    y[i] = half(q5_k_at(blocks, i));
}

kernel void dequant_q5_k_f32(device const uchar* blocks [[buffer(0)]],
                             device float* y [[buffer(1)]],
                             uint i [[thread_position_in_grid]]) {
    y[i] = q5_k_at(blocks, i);
}

kernel void dequant_bf16_f16(device const uchar* blocks [[buffer(0)]],
                             device half* y [[buffer(1)]],
                             uint i [[thread_position_in_grid]]) {
    y[i] = half(bf16_at(blocks, i));
}

kernel void dequant_bf16_f32(device const uchar* blocks [[buffer(0)]],
                             device float* y [[buffer(1)]],
                             uint i [[thread_position_in_grid]]) {
    y[i] = bf16_at(blocks, i);
}

kernel void dequant_iq4_nl_f16(device const uchar* blocks [[buffer(0)]],
                               device half* y [[buffer(1)]],
                               uint i [[thread_position_in_grid]]) {
    y[i] = half(iq4_nl_at(blocks, i));
}

kernel void dequant_iq4_nl_f32(device const uchar* blocks [[buffer(0)]],
                               device float* y [[buffer(1)]],
                               uint i [[thread_position_in_grid]]) {
    y[i] = iq4_nl_at(blocks, i);
}

kernel void dequant_iq4_xs_f16(device const uchar* blocks [[buffer(0)]],
                               device half* y [[buffer(1)]],
                               uint i [[thread_position_in_grid]]) {
    y[i] = half(iq4_xs_at(blocks, i));
}

kernel void dequant_iq4_xs_f32(device const uchar* blocks [[buffer(0)]],
                               device float* y [[buffer(1)]],
                               uint i [[thread_position_in_grid]]) {
    y[i] = iq4_xs_at(blocks, i);
}
