package kernels

// table is every kernel; it is never written after initialisation.
var table = [...]Kernel{
	// The twelve counted operations of the buffer-pool investigation;
	// linear_bwd is its two dispatches.
	{
		Name: "linear_fwd", Grid: "(out column, batch row)",
		Summary: "y[r,n] = act(bias[n] + sum over k of x[r,k] w[n,k])",
		Args:    []Arg{in("x"), in("w"), in("bias"), out("y"), dim("batch"), dim("out"), dim("in"), act()},
		need:    needLinearFwd, run: linearFwd,
	},
	{
		Name: "linear_bwd_input", Grid: "(in column, batch row)",
		Summary: "dx[r,k] = sum over n of d[r,n] w[n,k], d = dy act'(y)",
		Args:    []Arg{in("dy"), in("w"), in("y"), out("dx"), dim("batch"), dim("out"), dim("in"), act()},
		need:    needLinearBwdInput, run: linearBwdInput,
	},
	{
		Name: "linear_bwd_weights", Grid: "(in column, out row)",
		Summary: "dw[n,k] += sum over r of d[r,n] x[r,k] / batch, db[n] += sum over r of d[r,n] / batch",
		Args: []Arg{in("dy"), in("x"), in("y"), inout("dw"), inout("db"), dim("batch"), dim("out"),
			dim("in"), act()},
		need: needLinearBwdWeights, run: linearBwdWeights,
	},
	{
		Name: "adam_step", Grid: "value",
		Summary: "m, v updated; w -= lr wd w + lr (m / (1 - b1t)) / (sqrt(v / (1 - b2t)) + eps); b1t = " +
			"b1^step, b2t = b2^step",
		Args: []Arg{
			inout("w"), in("g"), inout("m"), inout("v"),
			num("lr"), num("b1"), num("b2"), num("b1t"), num("b2t"), num("eps"), num("wd"),
		},
		need: each, run: adamStep,
	},
	{
		Name: "mse_grad", Grid: "value", Summary: "g = 2 (p - t) / n",
		Args: []Arg{in("p"), in("t"), out("g"), num("n")}, need: each, run: mseGrad,
	},
	{
		Name: "matmul", Grid: "(column, row)", Summary: "c[m,n] = sum over k of a[m,k] b[k,n]",
		Args: []Arg{in("a"), in("b"), out("c"), dim("m"), dim("n"), dim("k")}, need: needMatmul, run: matmul,
	},
	{Name: "add", Grid: "value", Summary: "c = a + b", Args: abc(), need: each, run: add},
	{Name: "relu", Grid: "value", Summary: "y = x below 0 ? 0 : x; NaN stays", Args: xy(),
		need: each, run: relu},
	{Name: "sigmoid", Grid: "value", Summary: "y = 1 / (1 + exp(-x))", Args: xy(), need: each, run: sigmoid},
	{Name: "tanh", Grid: "value", Summary: "y = tanh(x)", Args: xy(), need: each, run: tanh},
	{
		Name: "mat_transpose", Grid: "(column, row)", Summary: "b[x rows + y] = a[y cols + x]",
		Args: []Arg{in("a"), out("b"), dim("rows"), dim("cols")}, need: needTranspose, run: matTranspose,
	},
	{
		Name: "add_bias", Grid: "(column, row); rows beyond the grid stay",
		Summary: "x[y cols + x] += bias[x]",
		Args:    []Arg{inout("x"), in("bias"), dim("cols")}, need: needAddBias, run: addBias,
	},
	{
		Name: "copy_inplace", Grid: "value", Summary: "dst = src",
		Args: []Arg{in("src"), inout("dst")}, need: each, run: copyInplace,
	},

	// Elementwise pieces, forward and backward.
	{Name: "sub", Grid: "value", Summary: "c = a - b", Args: abc(), need: each, run: sub},
	{Name: "mul", Grid: "value", Summary: "c = a b", Args: abc(), need: each, run: mul},
	{Name: "square", Grid: "value", Summary: "y = x x", Args: xy(), need: each, run: square},
	{
		Name: "affine", Grid: "value", Summary: "y = a x + b; its backward is affine with b = 0",
		Args: []Arg{in("x"), out("y"), num("a"), num("b")}, need: each, run: affine,
	},
	{
		Name: "axpy", Grid: "value", Summary: "y += a x; gradient descent is axpy with a = -lr",
		Args: []Arg{in("x"), inout("y"), num("a")}, need: each, run: axpy,
	},
	{Name: "fill", Grid: "value", Summary: "y = v", Args: []Arg{out("y"), num("v")}, need: each, run: fill},
	{Name: "relu_bwd", Grid: "value", Summary: "dx = y > 0 ? dy : 0", Args: backward("y"), need: each,
		run: reluBwd},
	{Name: "sigmoid_bwd", Grid: "value", Summary: "dx = dy y (1 - y)", Args: backward("y"), need: each,
		run: sigmoidBwd},
	{Name: "tanh_bwd", Grid: "value", Summary: "dx = dy (1 - y y)", Args: backward("y"), need: each,
		run: tanhBwd},
	{Name: "square_bwd", Grid: "value", Summary: "dx = 2 x dy", Args: backward("x"), need: each,
		run: squareBwd},

	// Rows, axes and broadcasts.
	{
		Name: "softmax", Grid: "row", Summary: "y[r,:] = exp(x[r,:] - max) / sum",
		Args: []Arg{in("x"), out("y"), dim("rows"), dim("cols")}, need: needRows, run: softmax,
	},
	{
		Name: "softmax_bwd", Grid: "row",
		Summary: "dx[r,c] = y[r,c] (dy[r,c] - sum over j of dy[r,j] y[r,j])",
		Args:    []Arg{in("dy"), in("y"), out("dx"), dim("rows"), dim("cols")}, need: needRows,
		run: softmaxBwd,
	},
	{
		Name: "sum_axis", Grid: "(inner, outer)",
		Summary: "y[o,i] = sum over a of x[o,a,i]; a total is outer = inner = 1",
		Args:    []Arg{in("x"), out("y"), dim("outer"), dim("axis"), dim("inner")}, need: needSumAxis,
		run: sumAxis,
	},
	{
		Name: "sum_axis_bwd", Grid: "(inner, outer)", Summary: "dx[o,a,i] = dy[o,i] for each a",
		Args: []Arg{in("dy"), out("dx"), dim("outer"), dim("axis"), dim("inner")}, need: needSumAxisBwd,
		run: sumAxisBwd,
	},
	{
		Name: "mul_broadcast", Grid: "(inner, outer)", Summary: "c[o,i] = a[i] b[o,i]",
		Args: []Arg{in("a"), in("b"), out("c"), dim("outer"), dim("inner")}, need: needMulBroadcast,
		run: mulBroadcast,
	},
	{
		Name: "mul_broadcast_bwd", Grid: "inner", Summary: "da[i] = sum over o of dc[o,i] b[o,i]",
		Args: []Arg{in("dc"), in("b"), out("da"), dim("outer"), dim("inner")}, need: needMulBroadcastBwd,
		run: mulBroadcastBwd,
	},

	// Pieces of a language model.
	{
		Name: "rms_norm", Grid: "row", Summary: "y[r,c] = w[c] x[r,c] / sqrt(mean of x[r,:]^2 + eps)",
		Args: []Arg{in("x"), in("w"), out("y"), dim("rows"), dim("cols"), num("eps")}, need: needRMSNorm,
		run: rmsNorm,
	},
	{
		Name: "rope", Grid: "(pair, row and head)",
		Summary: "x[r,h,2i], x[r,h,2i+1] turned by the angle whose cosine and sine are turns[from+r,i,:]",
		Args:    []Arg{inout("x"), in("turns"), dim("rows"), dim("heads"), dim("pairs"), dim("from")},
		need:    needRope, run: rope,
	},
	{
		Name: "attention_scores", Grid: "(position, row and head)",
		Summary: "y[r,h,p] = scale sum over i of q[r,h,i] k[p,h/group,i]; -1e30 where p > positions - rows " +
			"+ r",
		Args: []Arg{
			in("q"), in("k"), out("y"), dim("rows"), dim("heads"), dim("group"), dim("size"),
			dim("positions"), num("scale"),
		},
		need: needScores, run: attentionScores,
	},
	{
		Name: "attention_mix", Grid: "(value, row and head)",
		Summary: "y[r,h,i] = sum over p of w[r,h,p] v[p,h/group,i]",
		Args: []Arg{in("w"), in("v"), out("y"), dim("rows"), dim("heads"), dim("group"), dim("size"),
			dim("positions")},
		need: needMix, run: attentionMix,
	},
	{Name: "silu_mul", Grid: "value", Summary: "c = a / (1 + exp(-a)) b", Args: abc(), need: each,
		run: siluMul},

	// Dequantisation, one thread a value.
	dequant(Q4_0, F16), dequant(Q4_0, F32),
	dequant(Q6_K, F16), dequant(Q6_K, F32),
	dequant(Q8_0, F16), dequant(Q8_0, F32),
	dequant(HalfFloat, F16), dequant(HalfFloat, F32),
	dequant(Float, F16), dequant(Float, F32),
	dequant(Q4_1, F16), dequant(Q4_1, F32),
	dequant(Q5_0, F16), dequant(Q5_0, F32),
	dequant(Q5_1, F16), dequant(Q5_1, F32),
	dequant(Q2_K, F16), dequant(Q2_K, F32),
	dequant(Q3_K, F16), dequant(Q3_K, F32),
	dequant(Q4_K, F16), dequant(Q4_K, F32),
	dequant(Q5_K, F16), dequant(Q5_K, F32),
	dequant(BFloat, F16), dequant(BFloat, F32),
	dequant(IQ4_NL, F16), dequant(IQ4_NL, F32),
	dequant(IQ4_XS, F16), dequant(IQ4_XS, F32),
}

func in(name string) Arg    { return Arg{Name: name, Kind: In} }
func out(name string) Arg   { return Arg{Name: name, Kind: Out} }
func inout(name string) Arg { return Arg{Name: name, Kind: InOut} }
func dim(name string) Arg   { return Arg{Name: name, Kind: Int32} }
func num(name string) Arg   { return Arg{Name: name, Kind: Float32} }

// act is the activation parameter: 0 none, 1 ReLU, 2 tanh, 3 sigmoid.
func act() Arg { return Arg{Name: "act", Kind: Int32, Max: int32(ActSigmoid)} }

func xy() []Arg  { return []Arg{in("x"), out("y")} }
func abc() []Arg { return []Arg{in("a"), in("b"), out("c")} }

func backward(cached string) []Arg { return []Arg{in("dy"), in(cached), out("dx")} }

// each is the need of kernels with one thread a value: every buffer holds the
// grid's width.
func each(c *Call) lengths {
	n := int64(c.Grid.X)
	return lengths{n, n, n, n, n}
}
