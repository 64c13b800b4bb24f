; delivery.pddl in another order, with other names: its object x is called `renamed` x here by
; this table: north b, south a; n1 p6, n2 p4, n3 p5, s1 p1, s2 p3, s3 p2; red v1, blue v2,
; express z; letter q, box c.
(define (problem two-cities-rewritten)
  (:domain delivery)
  (:objects c q - parcel
            p5 p2 - station p1 p3 p4 p6 - place
            z - train v1 v2 - van
            a b - city)
  (:init (at c p3) (at q p6)
         (stands z p5) (stands v2 p1) (stands v1 p6)
         (road p2 p3) (road p3 p2) (road p3 p1) (road p1 p3)
         (road p5 p4) (road p4 p5) (road p4 p6) (road p6 p4)
         (part-of p2 a) (part-of p3 a) (part-of p1 a)
         (part-of p5 b) (part-of p4 b) (part-of p6 b))
  (:goal (and (at c p1) (at q p1))))
