(define (problem p3) (:domain shunting)
  (:objects w1 w2 w3 w4 w5 w6 - wagon t1 t2 t3 t4 - track)
  (:init (idle) (before t1) (linked t1 t2) (linked t2 t1) (linked t2 t3) (linked t3 t2) (linked t3 t4) (linked t4 t3) (first w1 t1) (last w1 t1) (first w6 t2) (last w5 t2) (behind w2 w6) (behind w4 w2) (behind w5 w4) (first w3 t3) (last w3 t3) (bare t4))
  (:goal (and (first w6 t2) (behind w3 w6) (first w4 t3) (behind w1 w4) (behind w2 w1) (behind w5 w2))))
