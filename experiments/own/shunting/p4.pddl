(define (problem p4) (:domain shunting)
  (:objects w1 w2 w3 w4 w5 w6 w7 - wagon t1 t2 t3 t4 - track)
  (:init (idle) (before t1) (linked t1 t2) (linked t2 t1) (linked t2 t3) (linked t3 t2) (linked t3 t4) (linked t4 t3) (first w3 t1) (last w2 t1) (behind w1 w3) (behind w5 w1) (behind w7 w5) (behind w2 w7) (first w6 t2) (last w6 t2) (first w4 t3) (last w4 t3) (bare t4))
  (:goal (and (first w2 t1) (behind w6 w2) (first w3 t2) (behind w4 w3) (first w7 t3) (behind w5 w7) (behind w1 w5))))
