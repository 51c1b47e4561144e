package eval

import "math"

// clustered puts the interval of a mean around it: Student's t with the variance among clusters.
func clustered(cells []sums, out Interval, b Bootstrap) Interval {
	var all sums
	for _, c := range cells {
		all.add(c)
	}
	out.Method, out.Low, out.High = Student, out.Mean, out.Mean
	if len(cells) < 2 {
		return out
	}
	leverages, variance := make([]float64, len(cells)), 0.0
	for i, c := range cells {
		leverages[i] = c.count / all.count
		residual := (c.total - out.Mean*c.count) / all.count
		variance += residual * residual / (1 - leverages[i])
	}
	half := studentQuantile((1+b.level())/2, freedom(leverages)) * math.Sqrt(variance)
	out.Low, out.High = out.Mean-half, out.Mean+half
	return out
}

// freedom is Bell and McCaffrey's number of degrees of freedom of the variance among clusters, each residual over the root of 1 minus
// its cluster's leverage (2002, "Bias reduction in standard errors for linear regression with multi-stage samples"): the one that
// gives a chi-squared variable its mean and variance, were rows independent. Of equal clusters it is their number less 1.
// Leverages are the clusters' shares of all rows: they sum to 1, and none is 1.
func freedom(leverages []float64) float64 {
	// With c = 1 / (1 - h) and cluster totals of variance h, the quadratic form has the matrix
	// sqrt(c_g c_k) (h_g [g = k] - h_g h_k), whose trace and whose square's trace are these sums.
	var trace, squares, off float64
	for _, h := range leverages {
		c := 1 / (1 - h)
		trace += c * (h - h*h)
		squares += c * c * ((h-h*h)*(h-h*h) - h*h*h*h)
		off += c * h * h
	}
	return trace * trace / (squares + off*off)
}
