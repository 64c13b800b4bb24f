;; A courier's van drives on roads of different length and takes parcels along for free.
;; A ferry crosses the river for a fixed fare.
(define (domain courier)
  (:requirements :strips :typing :action-costs)
  (:types place parcel)
  (:constants north-quay south-quay - place)
  (:predicates
    (road ?a ?b - place)
    (van-at ?p - place)
    (parcel-at ?x - parcel ?p - place)
    (loaded ?x - parcel))
  (:functions
    (distance ?a ?b - place) - number
    (total-cost) - number)

  (:action drive
    :parameters (?a ?b - place)
    :precondition (and (van-at ?a) (road ?a ?b))
    :effect (and (van-at ?b) (not (van-at ?a)) (increase (total-cost) (distance ?a ?b))))

  (:action cross-south
    :parameters ()
    :precondition (van-at north-quay)
    :effect (and (van-at south-quay) (not (van-at north-quay)) (increase (total-cost) 25)))

  (:action cross-north
    :parameters ()
    :precondition (van-at south-quay)
    :effect (and (van-at north-quay) (not (van-at south-quay)) (increase (total-cost) 25)))

  (:action load
    :parameters (?x - parcel ?p - place)
    :precondition (and (van-at ?p) (parcel-at ?x ?p))
    :effect (and (loaded ?x) (not (parcel-at ?x ?p))))

  (:action unload
    :parameters (?x - parcel ?p - place)
    :precondition (and (van-at ?p) (loaded ?x))
    :effect (and (parcel-at ?x ?p) (not (loaded ?x)))))
