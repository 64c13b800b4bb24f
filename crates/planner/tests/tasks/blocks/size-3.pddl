(define (problem blocks-03-000)
  (:domain blocks)
  (:objects
    b1 b2 b3)
  (:init
    (clear b3)
    (handempty)
    (on b1 b2)
    (on b3 b1)
    (ontable b2))
  (:goal (and
    (on b1 b3))))
