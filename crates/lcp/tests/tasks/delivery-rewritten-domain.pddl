; delivery-domain.pddl in another order.
(define (domain delivery)
  (:requirements :typing :strips)
  (:types van train - carrier
          parcel city place carrier - object
          station - place)
  (:predicates (road ?x ?y - place)
               (stands ?c - carrier ?l - place)
               (part-of ?l - place ?c - city)
               (in ?p - parcel ?c - carrier)
               (at ?p - parcel ?l - place))
  (:action unload
    :parameters (?p - parcel ?c - carrier ?l - place)
    :precondition (and (stands ?c ?l) (in ?p ?c))
    :effect (and (at ?p ?l) (not (in ?p ?c))))
  (:action ride
    :parameters (?t - train ?from ?to - station)
    :precondition (and (stands ?t ?from))
    :effect (and (stands ?t ?to) (not (stands ?t ?from))))
  (:action load
    :parameters (?p - parcel ?c - carrier ?l - place)
    :precondition (and (stands ?c ?l) (at ?p ?l))
    :effect (and (in ?p ?c) (not (at ?p ?l))))
  (:action drive
    :parameters (?v - van ?x ?y - place ?c - city)
    :precondition (and (part-of ?y ?c) (part-of ?x ?c) (road ?x ?y) (stands ?v ?x))
    :effect (and (stands ?v ?y) (not (stands ?v ?x)))))
