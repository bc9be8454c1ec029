package plan

import "math"

// minimize returns x >= 0 that makes cost*x least, given rows*x <= limits, or nil if
// there is none. It is the simplex method on a dense tableau, for small
// programs whose numbers are about 1.
func minimize(cost []float64, rows [][]float64, limits []float64) []float64 {
	const eps = 1e-10
	m, n := len(rows), len(cost)
	// Columns: n variables, then one that makes everything feasible, then the limit.
	// The last two rows are the cost and, while it is needed, that variable's.
	tab := make([][]float64, m+2)
	base, free := make([]int, m), make([]int, n+1)
	for i := range tab {
		tab[i] = make([]float64, n+2)
	}
	for i, r := range rows {
		copy(tab[i], r)
		tab[i][n], tab[i][n+1] = -1, limits[i]
		base[i] = n + i
	}
	for j, c := range cost {
		tab[m][j], free[j] = c, j
	}
	tab[m+1][n], free[n] = 1, -1

	pivot := func(r, s int) {
		inv := 1 / tab[r][s]
		for i := range tab {
			if f := tab[i][s] * inv; i != r && f != 0 {
				for j := range tab[i] {
					tab[i][j] -= float64(tab[r][j] * f)
				}
				tab[i][s] = -f
			}
		}
		for j := range tab[r] {
			tab[r][j] *= inv
		}
		tab[r][s] = inv
		base[r], free[s] = free[s], base[r]
	}
	solve := func(goal int) bool {
		for range 50 * (m + n) {
			s := -1
			for j := range n + 1 {
				if goal == m && free[j] == -1 {
					continue
				}
				if tab[goal][j] < -eps && (s < 0 || tab[goal][j] < tab[goal][s] || tab[goal][j] == tab[goal][s] && free[j] < free[s]) {
					s = j
				}
			}
			if s < 0 {
				return true
			}
			r := -1
			for i := range m {
				if tab[i][s] <= eps {
					continue
				}
				if r < 0 {
					r = i
					continue
				}
				a, b := tab[i][n+1]/tab[i][s], tab[r][n+1]/tab[r][s]
				if a < b-eps || a < b+eps && base[i] < base[r] {
					r = i
				}
			}
			if r < 0 {
				return false
			}
			pivot(r, s)
		}
		return false
	}

	worst := 0
	for i := range m {
		if tab[i][n+1] < tab[worst][n+1] {
			worst = i
		}
	}
	if m > 0 && tab[worst][n+1] < -eps {
		pivot(worst, n)
		if !solve(m+1) || tab[m+1][n+1] < -1e-8 {
			return nil
		}
		for i := range m {
			if base[i] != -1 {
				continue
			}
			s := 0
			for j := range n + 1 {
				if math.Abs(tab[i][j]) > math.Abs(tab[i][s]) {
					s = j
				}
			}
			pivot(i, s)
		}
	}
	if !solve(m) {
		return nil
	}
	x := make([]float64, n)
	for i, b := range base {
		if b >= 0 && b < n {
			x[b] = max(tab[i][n+1], 0)
		}
	}
	return x
}
