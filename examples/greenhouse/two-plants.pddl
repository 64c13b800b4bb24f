;; Optimal cost: 5 (fill, water, fill, water, leave).
(define (problem two-plants)
  (:domain greenhouse)
  (:objects fern palm - plant  barrel hose - tap)
  (:init (near barrel fern) (near hose palm) (locked hose))
  (:goal (and (wet fern) (wet palm) (lights-out))))
