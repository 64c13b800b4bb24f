(define (problem p4) (:domain weaving)
  (:objects x1 x2 x3 x4 x5 - cloth c1 c2 c3 - colour l1 l2 - loom s1 s2 s3 - shuttle g1 g2 g3 g4 g5 - stage)
  (:init (spare s1) (spare s2) (spare s3) (open l1) (open l2) (vacant l1) (vacant l2) (then g1 g2) (then g2 g3) (then g3 g4) (then g4 g5) (waiting x1) (at x1 g1) (asks x1 g1 c2) (asks x1 g2 c3) (asks x1 g3 c1) (asks x1 g4 c3) (waiting x2) (at x2 g1) (asks x2 g1 c1) (asks x2 g2 c3) (asks x2 g3 c2) (asks x2 g4 c1) (waiting x3) (at x3 g1) (asks x3 g1 c1) (asks x3 g2 c3) (asks x3 g3 c3) (asks x3 g4 c1) (waiting x4) (at x4 g1) (asks x4 g1 c2) (asks x4 g2 c3) (asks x4 g3 c3) (asks x4 g4 c3) (waiting x5) (at x5 g1) (asks x5 g1 c3) (asks x5 g2 c3) (asks x5 g3 c3) (asks x5 g4 c2))
  (:goal (and (at x1 g5) (at x2 g5) (at x3 g5) (at x4 g5) (at x5 g5))))
