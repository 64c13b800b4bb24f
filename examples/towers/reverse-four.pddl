;; Optimal cost: 4 (a tower of four is turned upside down: two on the table, then back).
(define (problem reverse-four)
  (:domain towers)
  (:objects a b c d - block)
  (:init (on a b) (on b c) (on c d) (on-table d) (covered b) (covered c) (covered d))
  (:goal (and (on d c) (on c b) (on b a))))
