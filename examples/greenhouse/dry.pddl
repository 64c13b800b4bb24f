;; Has no plan: the only tap is locked.
(define (problem dry)
  (:domain greenhouse)
  (:objects fern - plant  hose - tap)
  (:init (near hose fern) (locked hose))
  (:goal (and (wet fern) (lights-out))))
