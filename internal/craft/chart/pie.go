package chart

import "math"

// pie draws shares clockwise from the top, each with its name, value and part beside
// the circle.
func (c *Chart) pie(on canvas) {
	const radius = 190
	center := point{30 + radius, 270}
	values, sum := c.Series[0].Values, 0.0
	for _, v := range values {
		sum += float64(v)
	}
	angle := 0.0
	for i, v := range values {
		turn := 2 * math.Pi * (float64(v) / sum)
		if turn > 0 {
			on.fill(c.tone(i), append(arc(center, radius, angle, turn), center)...)
		}
		angle += turn
	}
	if sum > float64(c.most()) { // a whole has no borders
		c.borders(on, center, radius, sum)
	}
	c.shares(on, center.x+radius+40, sum)
}

// most is the largest share.
func (c *Chart) most() (n Number) {
	for _, v := range c.Series[0].Values {
		n = max(n, v)
	}
	return n
}

func (c *Chart) borders(on canvas, center point, radius, sum float64) {
	angle := 0.0
	for _, v := range c.Series[0].Values {
		sin, cos := math.Sincos(angle)
		on.line(pen{tone: white, width: 2}, center, center.plus(radius*sin, -radius*cos))
		angle += 2 * math.Pi * (float64(v) / sum)
	}
}

// shares lists the names from the top down.
func (c *Chart) shares(on canvas, left, sum float64) {
	high := min(26, 420/float64(len(c.Categories)))
	names := look{size: min(13, high*0.8)}
	for i, name := range c.Categories {
		v, half := float64(c.Series[0].Values[i]), high*0.35
		at := point{left, 70 + high*(float64(i)+0.5)}
		on.fill(c.tone(i), at.plus(0, -half), at.plus(2*half, -half), at.plus(2*half, half), at.plus(0, half))
		on.text(at.plus(3*half, 0), shorten(name, 30)+"   "+c.figure(v)+"   "+percent(v/sum), names)
	}
}
